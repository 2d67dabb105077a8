// What a finished app adds to RelaySignIn.kt: tokens that are kept and refreshed when that is due, another link for
// one that has expired, and cancelling. RelayAuthenticator.kt puts them into the requests of the app.
//
//     val relay = RelayTokens(RelaySignIn("https://relay.example", "mal"), File(context.noBackupFilesDir, "tokens-mal.json"))
//     job = viewModelScope.launch {
//         try {
//             relay.tokens(Build.MODEL, onStarted = ::showLink)
//         } catch (failure: SignInFailure) {
//             showError(failure.code)
//         }
//     }
//     job.cancel()      // on Back: cancels the sign-in at the relay too
//
// Permission: android.permission.INTERNET.
package example.relay

import java.io.File
import java.io.IOException
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import org.json.JSONObject

private const val LINKS = 3 // A link that has expired is replaced, but not for ever on a forgotten screen.
private const val EARLY_MS = 60_000L // Before it expires, or half of a shorter life, so that none expires on its way.

class SavedTokens(val json: JSONObject) : Tokens(json) {
    /** Milliseconds since 1970; null if the provider gave no lifetime: then it is used until the API answers 401. */
    private val expiresAt = json.optLong("expiresAt").takeIf { it > 0 }

    val isDue: Boolean
        get() {
            if (expiresAt == null || expiresIn == null) return false
            val leftMs = expiresAt - System.currentTimeMillis()
            // More left than there ever was: the clock was set back since, and says nothing about the token.
            return leftMs < minOf(EARLY_MS, expiresIn * 500) || leftMs > expiresIn * 1_000
        }
}

/** One for the whole app. */
class RelayTokens(private val signIn: RelaySignIn, private val file: File) {
    private val obtaining = Mutex()
    private val refreshing = Mutex()

    /** What could not be saved: the app goes on with it, and each call tries to save it. */
    @Volatile private var unsaved: SavedTokens? = null

    /** Those that are saved, if need be refreshed, or those of a new sign-in. One call shows a link while the others wait. */
    suspend fun tokens(device: String, onStarted: (Started) -> Unit): SavedTokens = obtaining.withLock {
        val saved = load() ?: return newTokens(device, onStarted)
        if (!saved.isDue) return saved
        return try {
            refresh(saved.accessToken)
        } catch (failure: SignInFailure) {
            if (failure.code != "invalid_grant") throw failure
            newTokens(device, onStarted)
        }
    }

    /** One request refreshes while the others wait. */
    suspend fun refresh(rejectedToken: String): SavedTokens = refreshing.withLock {
        val saved = load()
        if (saved != null && saved.accessToken != rejectedToken) return saved
        // A refresh token may be good for one use: from here on nothing may be interrupted.
        withContext(NonCancellable) {
            try {
                val refreshToken = saved?.refreshToken ?: throw SignInFailure("invalid_grant")
                save(signIn.refresh(refreshToken), refreshToken)
            } catch (failure: SignInFailure) {
                // Otherwise `tokens` would return them again, since they need not be due.
                if (failure.code == "invalid_grant") {
                    unsaved = null
                    file.delete()
                }
                throw failure
            }
        }
    }

    private suspend fun newTokens(device: String, onStarted: (Started) -> Unit): SavedTokens {
        repeat(LINKS) {
            val started = signIn.start(device)
            onStarted(started)
            try {
                val tokens = signIn.waitForTokens(started)
                return withContext(NonCancellable) { save(tokens).also { signIn.acknowledge(started) } }
            } catch (cancelled: CancellationException) {
                withContext(NonCancellable) { signIn.cancel(started) }
                throw cancelled
            } catch (failure: SignInFailure) {
                if (failure.code != "expired") throw failure
            }
        }
        throw SignInFailure("expired")
    }

    // In the app's own storage, which other apps cannot read; noBackupFilesDir is in no backup.
    private suspend fun load(): SavedTokens? = withContext(Dispatchers.IO) {
        unsaved?.let {
            runCatching { write(it) } // If it fails again, the app goes on.
            return@withContext it
        }
        runCatching { SavedTokens(JSONObject(file.readText())) }.getOrNull() // It may be missing, or broken.
    }

    private suspend fun save(tokens: Tokens, oldRefreshToken: String? = null): SavedTokens = withContext(Dispatchers.IO) {
        val json = JSONObject()
            .put("accessToken", tokens.accessToken)
            .putOpt("refreshToken", tokens.refreshToken ?: oldRefreshToken)
            .putOpt("expiresIn", tokens.expiresIn)
            .putOpt("expiresAt", tokens.expiresIn?.let { System.currentTimeMillis() + it * 1_000 })
        SavedTokens(json).also(::write)
    }

    private fun write(saved: SavedTokens) {
        // Never half written.
        val written = File(file.path + ".new")
        try {
            written.writeText(saved.json.toString())
            if (!written.renameTo(file)) throw IOException("could not rename")
        } catch (full: IOException) {
            unsaved = saved
            throw SignInFailure("not_saved", full.message.orEmpty())
        }
        unsaved = null
    }
}
