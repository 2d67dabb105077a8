// What a finished app adds to RelaySignIn.swift: tokens that are kept and refreshed when that is due, another link for
// one that has expired, and cancelling. SignInView.swift shows how it is used.
import Foundation
import Security

private let links = 3 // A link that has expired is replaced, but not for ever on a forgotten screen.
private let earlySeconds = 60.0 // Before it expires, or half of a shorter life, so that none expires on its way.

struct SavedTokens: Codable {
    let accessToken: String
    let refreshToken: String?
    let expiresIn: Int?
    /// Nil if the provider gave no lifetime: then it is used until the API answers 401.
    let expiresAt: Date?

    var isDue: Bool {
        guard let expiresIn, let expiresAt else { return false }
        let left = expiresAt.timeIntervalSinceNow
        // More left than there ever was: the clock was set back since, and says nothing about the token.
        return left < min(earlySeconds, Double(expiresIn) / 2) || left > Double(expiresIn)
    }
}

/// One for the whole app.
actor RelayTokens {
    nonisolated let signIn: RelaySignIn
    private var obtaining: Task<SavedTokens, Error>?
    private var refreshing: Task<SavedTokens, Error>?
    private var unsaved: SavedTokens? // What could not be saved: the app goes on with it, and each call tries to save it.

    init(relay: String, service: String) {
        signIn = RelaySignIn(relay: relay, service: service)
    }

    /// Those that are saved, if need be refreshed, or those of a new sign-in. Cancel the task to cancel the sign-in.
    /// One call shows a link while the others wait.
    func tokens(device: String, onStarted: @escaping @MainActor (Started) -> Void) async throws -> SavedTokens {
        while let obtaining { _ = await obtaining.result }
        let task = Task<SavedTokens, Error> {
            defer { obtaining = nil }
            return try await obtain(device, onStarted)
        }
        obtaining = task
        return try await withTaskCancellationHandler { try await task.value } onCancel: { task.cancel() }
    }

    private func obtain(
        _ device: String, _ onStarted: @escaping @MainActor (Started) -> Void
    ) async throws -> SavedTokens {
        if let saved = load() {
            if !saved.isDue { return saved }
            do {
                return try await refresh(rejectedToken: saved.accessToken)
            } catch let failure as SignInFailure where failure.code == "invalid_grant" {
                // Sign in again.
            }
        }
        return try await newTokens(device, onStarted)
    }

    /// Also when the provider's API answers 401. One request refreshes while the others wait.
    func refresh(rejectedToken: String) async throws -> SavedTokens {
        if let refreshing { return try await refreshing.value }
        let saved = load()
        if let saved, saved.accessToken != rejectedToken { return saved }
        // A task of its own, which no cancellation ends: a refresh token may be good for one use.
        let task = Task { try await renew(saved?.refreshToken) }
        refreshing = task
        defer { refreshing = nil }
        return try await task.value
    }

    private func renew(_ refreshToken: String?) async throws -> SavedTokens {
        do {
            guard let refreshToken else { throw SignInFailure(code: "invalid_grant") }
            return try save(await signIn.refresh(refreshToken), oldRefreshToken: refreshToken)
        } catch let failure as SignInFailure where failure.code == "invalid_grant" {
            // Otherwise `tokens` would return them again, since they need not be due.
            unsaved = nil
            SecItemDelete(keychainItem as CFDictionary)
            throw failure
        }
    }

    private func newTokens(
        _ device: String, _ onStarted: @escaping @MainActor (Started) -> Void
    ) async throws -> SavedTokens {
        for _ in 0..<links {
            let started = try await signIn.start(device: device)
            await onStarted(started)
            do {
                let saved = try save(await signIn.waitForTokens(started))
                Task { await signIn.acknowledge(started) } // The user need not wait for it.
                return saved
            } catch is CancellationError {
                // In a task of its own, because what a cancelled one awaits fails at once. The next sign-in need not wait for it.
                Task { await signIn.cancel(started) }
                throw CancellationError()
            } catch let failure as SignInFailure where failure.code == "expired" {
                continue
            }
        }
        throw SignInFailure(code: "expired")
    }

    // The Keychain, because tvOS has no files that last.
    private var keychainItem: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "sign-in-relay", kSecAttrAccount: signIn.service]
    }

    private func save(_ tokens: Tokens, oldRefreshToken: String? = nil) throws -> SavedTokens {
        let saved = SavedTokens(
            accessToken: tokens.accessToken,
            refreshToken: tokens.refreshToken ?? oldRefreshToken,
            expiresIn: tokens.expiresIn,
            expiresAt: tokens.expiresIn.map { Date(timeIntervalSinceNow: Double($0)) }
        )
        try write(saved)
        return saved
    }

    private func write(_ saved: SavedTokens) throws {
        let value: [CFString: Any] = [
            kSecValueData: try JSONEncoder().encode(saved),
            kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        // Updated, not deleted and added: an app that is ended in between would lose the old tokens too.
        var status = SecItemUpdate(keychainItem as CFDictionary, value as CFDictionary)
        if status == errSecItemNotFound {
            status = SecItemAdd(keychainItem.merging(value) { $1 } as CFDictionary, nil)
        }
        unsaved = status == errSecSuccess ? nil : saved
        if status != errSecSuccess { throw SignInFailure(code: "not_saved", detail: "\(status)") }
    }

    private func load() -> SavedTokens? {
        if let kept = unsaved {
            try? write(kept)
            return kept
        }
        var item = keychainItem
        item[kSecReturnData] = true
        var found: CFTypeRef?
        guard SecItemCopyMatching(item as CFDictionary, &found) == errSecSuccess, let data = found as? Data else { return nil }
        return try? JSONDecoder().decode(SavedTokens.self, from: data)
    }
}
