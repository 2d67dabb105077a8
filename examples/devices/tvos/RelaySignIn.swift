// Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
// Swift 5.7 or newer, tvOS 16, iOS 16 or macOS 13; no package. What a finished app adds is in RelayTokens.swift,
// the screen in SignInView.swift.
import Foundation

private let waitSeconds = 25 // The relay holds a poll this long. Some proxies cut a request after 30 s.
private let maxBytes = 65_536 // More than any response of a relay: one that never ends fills no memory.
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
        let reply = try await retry("/auth/start", body)
        guard let started = reply.decoded(Started.self) else { throw reply.failure }
        return started
    }

    func waitForTokens(_ started: Started) async throws -> Tokens {
        // Not by the date, which may not be set yet; this clock goes on while the device sleeps.
        let clock = ContinuousClock()
        let expiresAt = clock.now + .seconds(started.expiresIn)
        while clock.now < expiresAt {
            let reply = try await ask("/auth/result?session=\(started.session)&wait=\(waitSeconds)", nil)
            if let tokens = reply.decoded(Tokens.self) { return tokens }
            if reply.status == 410 { break }
            if reply.status == 400 || reply.status == 200 && reply.error != nil { throw reply.failure }
            try await Task.sleep(for: reply.pause) // Not yet; or 429, 5xx, a page of a proxy, no network.
        }
        throw SignInFailure(code: "expired")
    }

    /// Once they are saved, and never before. If it fails, the relay forgets them after 60 s.
    func acknowledge(_ started: Started) async {
        _ = try? await retry("/auth/result?session=\(started.session)&ack=1", nil, Self.briefly)
    }

    /// The link then says that the device cancelled the sign-in.
    func cancel(_ started: Started) async {
        _ = try? await retry("/auth/result?session=\(started.session)&cancel=1", nil, Self.briefly)
    }

    /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
    func refresh(_ refreshToken: String) async throws -> Tokens {
        let reply = try await retry("/refresh", ["service": service, "refreshToken": refreshToken])
        guard let tokens = reply.decoded(Tokens.self) else { throw reply.failure }
        return tokens
    }

    /// Repeats a request that failed for a while.
    private func retry(_ path: String, _ body: [String: Any]?, _ http: URLSession = Self.http) async throws -> Reply {
        var reply = try await ask(path, body, http)
        for _ in 1..<tries where reply.isTransient {
            try await Task.sleep(for: reply.pause)
            reply = try await ask(path, body, http)
        }
        return reply
    }

    private static let http = session(timeoutSeconds: Double(waitSeconds + 15))
    private static let briefly = session(timeoutSeconds: 5) // The user waits, and the relay forgets in 60 s.

    private static func session(timeoutSeconds: Double) -> URLSession {
        // Ephemeral: no response with tokens gets into a cache on disk.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds // Starts again with each byte.
        configuration.timeoutIntervalForResource = timeoutSeconds
        return URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    private func ask(_ path: String, _ body: [String: Any]?, _ http: URLSession = Self.http) async throws -> Reply {
        guard let url = URL(string: relay + path) else { throw SignInFailure(code: "refused", detail: "not a URL: \(relay)") }
        var request = URLRequest(url: url)
        if let body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: body)
        }
        do {
            let (bytes, response) = try await http.bytes(for: request)
            defer { bytes.task.cancel() }
            let data = try await bytes.prefix(maxBytes).reduce(into: Data()) { $0.append($1) }
            guard let response = response as? HTTPURLResponse else { return Reply(status: 0, data: data) }
            let retryAfter = Int(response.value(forHTTPHeaderField: "Retry-After") ?? "") ?? 0
            return Reply(status: response.statusCode, data: data, retryAfterSeconds: retryAfter)
        } catch {
            // Lost, timed out, cut off. A cancelled task gets here too.
            try Task.checkCancellation()
            return Reply(status: 0, data: Data(relay.utf8))
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

/// Status 0: no complete response.
private struct Reply {
    private struct Problem: Decodable {
        let error: String?
    }

    let status: Int
    let data: Data
    var retryAfterSeconds = 0

    // At random, so that a thousand devices do not return at the same moment.
    var pause: Duration {
        status == 204 ? .seconds(1) : .milliseconds(Int.random(in: 1_000...3_000)) + .seconds(min(max(0, retryAfterSeconds), 60))
    }

    /// Nil for another object, and for what is none, such as a page of a proxy.
    func decoded<Value: Decodable>(_ type: Value.Type) -> Value? { try? JSONDecoder().decode(type, from: data) }

    var error: String? { decoded(Problem.self)?.error }

    var isTransient: Bool {
        status == 0 || status == 200 && decoded(Problem.self) == nil || status / 100 == 3 || status == 429 || status >= 500
    }

    var failure: SignInFailure {
        let text = String(decoding: data.prefix(100), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if isTransient && status != 200 { return SignInFailure(code: "unreachable", detail: text) }
        if let error { return SignInFailure(code: error) }
        if status == 200 { return SignInFailure(code: "unreachable") } // Its text may hold tokens.
        return SignInFailure(code: "refused", detail: text)
    }
}

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, refused, unreachable, invalid_grant (refresh only: sign in again), not_saved (the next call returns the tokens).
struct SignInFailure: Error {
    let code: String
    var detail = ""
}
