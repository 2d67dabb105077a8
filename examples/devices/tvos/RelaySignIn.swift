// Signs a user in through a Sign-in Relay. Swift 5.7 or newer, tvOS 15 or newer (iOS, macOS too). No package.
//
//     let relay = RelaySignIn(relay: URL(string: "https://relay.example")!, service: "mal")
//     task = Task {
//         do {
//             let tokens = try await relay.tokens { prompt in … } onCountdown: { seconds in … }
//         } catch let failure as SignInFailure {
//             show(failure.code)
//         }
//     }
//     task.cancel()      // on the Menu button; cancels the sign-in at the relay too
import CoreImage.CIFilterBuiltins
import Foundation
import Security

private let waitSeconds = 25 // The relay holds a poll this long. Some proxies cut a request after 30 s.
private let tries = 6 // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
private let links = 3 // A link that has expired is replaced, but not for ever on a forgotten screen.

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, refused, unreachable, invalid_grant (refresh only: sign in again).
struct SignInFailure: Error {
    let code: String
    var detail = ""
}

struct Tokens: Codable {
    let accessToken: String
    var refreshToken: String?
    let expiresIn: Int?
}

struct Prompt {
    let link: String
    let userCode: String
    let codeAddress: String

    /// Black on white whatever the appearance, with the margin of four modules. Do not smooth it when it is scaled.
    func qrCode(modulePixels: CGFloat = 12) -> CGImage? {
        let filter = CIFilter.qrCodeGenerator()
        filter.message = Data(link.utf8)
        filter.correctionLevel = "L"
        guard let code = filter.outputImage else { return nil }
        let framed = code.extent.insetBy(dx: -4, dy: -4)
        let image = code.composited(over: CIImage(color: .white).cropped(to: framed))
            .transformed(by: CGAffineTransform(scaleX: modulePixels, y: modulePixels))
        return CIContext().createCGImage(image, from: image.extent)
    }
}

actor RelaySignIn {
    private struct Started: Decodable {
        let session: String // Only for this device: never show it, log it or put it into a link.
        let link, userCode: String
        let expiresIn: Int
    }

    private struct Refusal: Decodable {
        let error: String
    }

    /// Status 0: no complete response.
    private struct Reply {
        var status = 0
        var data = Data()
        // At random, so that a thousand devices do not return at the same moment.
        var pauseSeconds = Double.random(in: 1...3)

        func decoded<Value: Decodable>(_ type: Value.Type) -> Value? { try? JSONDecoder().decode(type, from: data) }
        var text: String { String(decoding: data.prefix(100), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines) }
        var isRefusal: Bool { (400..<500).contains(status) && status != 429 }
    }

    private let relay: String
    private let service: String
    private let http: URLSession

    init(relay: URL, service: String) {
        self.relay = relay.absoluteString.trimmingCharacters(in: ["/"])
        self.service = service
        // Ephemeral: no response with tokens gets into a cache on disk.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Double(waitSeconds + 15)
        http = URLSession(configuration: configuration)
    }

    /// Refreshes what is saved, or signs in. Cancel the task to cancel the sign-in.
    func tokens(
        onPrompt: @escaping @MainActor (Prompt) -> Void,
        onCountdown: @escaping @MainActor (Int) -> Void
    ) async throws -> Tokens {
        if let refreshToken = load()?.refreshToken {
            do {
                return try await refresh(refreshToken)
            } catch let failure as SignInFailure where failure.code == "invalid_grant" {
                // Sign in again.
            }
        }
        for _ in 0..<links {
            let started = try await start()
            let expiresAt = Date(timeIntervalSinceNow: Double(started.expiresIn))
            await onPrompt(Prompt(link: started.link, userCode: started.userCode, codeAddress: relay + "/link"))
            let countdown = Task { @MainActor in
                while !Task.isCancelled {
                    onCountdown(max(0, Int(expiresAt.timeIntervalSinceNow)))
                    try await Task.sleep(nanoseconds: 1_000_000_000)
                }
            }
            defer { countdown.cancel() }
            do {
                let tokens = try await waitForTokens(started.session, until: expiresAt)
                try save(tokens)
                // Detached: a cancellation that comes too late does not stop it.
                await Task.detached { await self.tell(started.session, "ack") }.value
                return tokens
            } catch is CancellationError {
                // The link then says that the device cancelled the sign-in.
                await Task.detached { await self.tell(started.session, "cancel") }.value
                throw CancellationError()
            } catch let failure as SignInFailure where failure.code == "expired" {
                continue
            }
        }
        throw SignInFailure(code: "expired")
    }

    private func start() async throws -> Started {
        let body: [String: Any] = ["service": service, "code": true, "ack": true, "device": "Apple TV"]
        return try await retry("/auth/start", body) { $0.status == 200 ? $0.decoded(Started.self) : nil }
    }

    private func waitForTokens(_ session: String, until expiresAt: Date) async throws -> Tokens {
        // After a sleep the next poll says whether the link is still valid: 410 if not.
        while Date() < expiresAt {
            let askedAt = Date()
            let reply = try await ask(resultPath(session, "wait=\(waitSeconds)"))
            if reply.status == 200 {
                if let refusal = reply.decoded(Refusal.self) { throw SignInFailure(code: refusal.error) }
                if let tokens = reply.decoded(Tokens.self) { return tokens }
            }
            if reply.status == 410 { break }
            if reply.status == 400 { throw SignInFailure(code: "refused", detail: reply.text) }
            // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            let pause = reply.status == 204 ? 1 + askedAt.timeIntervalSinceNow : reply.pauseSeconds
            try await sleep(min(pause, expiresAt.timeIntervalSinceNow))
        }
        throw SignInFailure(code: "expired")
    }

    /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
    func refresh(_ refreshToken: String) async throws -> Tokens {
        let body: [String: Any] = ["service": service, "refreshToken": refreshToken]
        var tokens: Tokens = try await retry("/refresh", body) { reply in
            if reply.status == 400, let refusal = reply.decoded(Refusal.self) { throw SignInFailure(code: refusal.error) }
            return reply.status == 200 ? reply.decoded(Tokens.self) : nil
        }
        tokens.refreshToken = tokens.refreshToken ?? refreshToken // The old one stays.
        try save(tokens)
        return tokens
    }

    private func retry<Value>(
        _ path: String, _ body: [String: Any], read: (Reply) throws -> Value?
    ) async throws -> Value {
        var reply = Reply()
        for _ in 0..<tries {
            reply = try await ask(path, body)
            if let value = try read(reply) { return value }
            if reply.isRefusal { throw SignInFailure(code: "refused", detail: reply.text) }
            try await sleep(reply.pauseSeconds)
        }
        throw SignInFailure(code: "unreachable", detail: reply.text)
    }

    private func tell(_ session: String, _ parameter: String) async {
        for _ in 0..<tries {
            guard let reply = try? await ask(resultPath(session, parameter + "=1")) else { return }
            if [204, 400, 410].contains(reply.status) { return }
            try? await sleep(reply.pauseSeconds)
        }
    }

    private func resultPath(_ session: String, _ query: String) -> String {
        "/auth/result?session=\(session)&\(query)"
    }

    private func sleep(_ seconds: Double) async throws {
        try await Task.sleep(nanoseconds: UInt64(max(0, seconds) * 1_000_000_000))
    }

    private func ask(_ path: String, _ body: [String: Any]? = nil) async throws -> Reply {
        var request = URLRequest(url: URL(string: relay + path)!)
        if let body = body {
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: body)
        }
        var reply = Reply()
        do {
            let (data, response) = try await http.data(for: request)
            guard let response = response as? HTTPURLResponse else { return reply }
            reply.status = response.statusCode
            reply.data = data
            let retryAfter = Double(response.value(forHTTPHeaderField: "Retry-After") ?? "") ?? 0
            reply.pauseSeconds += min(max(0, retryAfter), 60)
        } catch {
            // Lost, timed out, cut off. A cancelled task ends here too.
            try Task.checkCancellation()
        }
        return reply
    }

    // The Keychain, because tvOS has no files that last.
    private var keychainItem: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "sign-in-relay", kSecAttrAccount: service]
    }

    private func save(_ tokens: Tokens) throws {
        SecItemDelete(keychainItem as CFDictionary)
        var item = keychainItem
        item[kSecValueData] = try JSONEncoder().encode(tokens)
        item[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        let status = SecItemAdd(item as CFDictionary, nil)
        if status != errSecSuccess { throw SignInFailure(code: "not_saved", detail: "\(status)") }
    }

    private func load() -> Tokens? {
        var item = keychainItem
        item[kSecReturnData] = true
        var found: CFTypeRef?
        guard SecItemCopyMatching(item as CFDictionary, &found) == errSecSuccess, let data = found as? Data else { return nil }
        return try? JSONDecoder().decode(Tokens.self, from: data)
    }
}
