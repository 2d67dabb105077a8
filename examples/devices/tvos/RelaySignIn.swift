// Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
// Swift 5.7 or newer, tvOS 16, iOS 16 or macOS 13; no package. What a finished app adds is in RelayTokens.swift,
// the screen in SignInView.swift.
import Foundation

private let waitSeconds = 25 // The relay holds a poll this long. Some proxies cut a request after 30 s.
private let maxBytes = 65_536 // More than any response of a relay: one that never ends fills no memory.
private let timeoutSeconds = 40.0 // A connection that broke while the device slept would hang.
private let shortTimeoutSeconds = 5.0 // To acknowledge and cancel: the relay forgets in 60 s.
private let tries = 6 // Only a poll is repeated until the link expires.

/// Show link, userCode and a QR code of link. The session is for this device alone: never show it, log it or put it into a link.
struct Started: Decodable {
    let session, link, userCode: String
    let expiresIn: Int
}

struct Tokens: Decodable {
    let accessToken: String
    let refreshToken: String?
    let expiresIn: Int?
}

struct RelaySignIn {
    let relay: String
    let service: String

    func start(device: String) async throws -> Started {
        let body: [String: Any] = ["service": service, "code": true, "ack": true, "device": device]
        return try await askUntilAnswered("/auth/start", body)
    }

    func waitForTokens(_ started: Started) async throws -> Tokens {
        // Not by the date, which may not be set yet; this clock goes on while the device sleeps.
        let clock = ContinuousClock()
        let expiresAt = clock.now + .seconds(started.expiresIn)
        while true {
            let reply = try await ask("/auth/result?session=\(started.session)&wait=\(waitSeconds)")
            if let tokens: Tokens = reply.answer() { return tokens }
            if reply.status == 400 || reply.status == 200 && reply.error != nil { throw reply.refusal }
            // The relay decides when the link has expired. The time here ends only polls that fail.
            if reply.status == 410 || reply.status != 204 && clock.now > expiresAt { throw SignInFailure(code: "expired") }
            try await Task.sleep(for: reply.pause) // Not yet; or 429, 5xx, a page of a proxy, no network.
        }
    }

    /// Once they are saved, and never before. If it fails, the relay forgets them after 60 s.
    func acknowledge(_ started: Started) async { try? await tell(started, "ack") }

    /// The link then says that the device cancelled the sign-in.
    func cancel(_ started: Started) async { try? await tell(started, "cancel") }

    private func tell(_ started: Started, _ what: String) async throws {
        for _ in 1...tries {
            let reply = try await ask("/auth/result?session=\(started.session)&\(what)=1", nil, shortTimeoutSeconds)
            if [204, 400, 410].contains(reply.status) { return }
            try await Task.sleep(for: reply.pause)
        }
    }

    /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
    func refresh(_ refreshToken: String) async throws -> Tokens {
        try await askUntilAnswered("/refresh", ["service": service, "refreshToken": refreshToken])
    }

    /// Tries again what may pass.
    private func askUntilAnswered<Answer: Decodable>(_ path: String, _ body: [String: Any]) async throws -> Answer {
        var reply = Reply()
        for tried in 0..<tries {
            if tried > 0 { try await Task.sleep(for: reply.pause) }
            reply = try await ask(path, body)
            if let answer: Answer = reply.answer() { return answer }
            if reply.status / 100 == 4 && reply.status != 429 { throw reply.refusal }
        }
        throw SignInFailure(code: "unreachable", detail: reply.status == 0 ? relay : "")
    }

    private static let http: URLSession = {
        // Ephemeral: no response with tokens gets into a cache on disk.
        let configuration = URLSessionConfiguration.ephemeral
        // As a whole: the time limit of a request starts again with each byte.
        configuration.timeoutIntervalForResource = timeoutSeconds
        return URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }()

    private func ask(_ path: String, _ body: [String: Any]? = nil, _ seconds: Double = timeoutSeconds) async throws -> Reply {
        guard let url = URL(string: relay + path) else { throw SignInFailure(code: "refused", detail: "not a URL: \(relay)") }
        var request = URLRequest(url: url)
        request.timeoutInterval = seconds
        if let body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: body)
        }
        do {
            let (bytes, response) = try await Self.http.bytes(for: request)
            defer { bytes.task.cancel() }
            let data = try await bytes.prefix(maxBytes).reduce(into: Data()) { $0.append($1) }
            guard let response = response as? HTTPURLResponse else { return Reply() }
            let retryAfter = Int(response.value(forHTTPHeaderField: "Retry-After") ?? "") ?? 0
            return Reply(status: response.statusCode, data: data, retryAfterSeconds: retryAfter)
        } catch {
            // Lost, timed out, cut off. A cancelled task gets here too.
            try Task.checkCancellation()
            return Reply()
        }
    }
}

/// One could lead tokens to another server, and a captive portal's may pass.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

private struct Reply {
    private struct Problem: Decodable {
        let error: String?
    }

    var status = 0 // 0: no complete response.
    var data = Data()
    var retryAfterSeconds = 0

    // At random, so that a thousand devices do not return at the same moment.
    var pause: Duration {
        status == 204 ? .seconds(1) : .milliseconds(Int.random(in: 1_000...3_000)) + .seconds(min(max(0, retryAfterSeconds), 60))
    }

    /// Nil for another object, and for what is none, such as a page of a proxy.
    func answer<Answer: Decodable>() -> Answer? {
        guard status == 200 else { return nil }
        return try? JSONDecoder().decode(Answer.self, from: data)
    }

    var error: String? { try? JSONDecoder().decode(Problem.self, from: data).error }

    var refusal: SignInFailure {
        if let error { return SignInFailure(code: error) }
        let text = String(decoding: data.prefix(100), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return SignInFailure(code: "refused", detail: text)
    }
}

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, refused, unreachable, invalid_grant (refresh only: sign in again), not_saved (the next call returns the tokens).
struct SignInFailure: Error {
    let code: String
    var detail = ""
}
