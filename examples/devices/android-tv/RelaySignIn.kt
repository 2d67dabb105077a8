// Signs a user in through a Sign-in Relay. Kotlin, OkHttp 4 or 5, kotlinx.coroutines. Android 5 or newer.
//
//     val relay = RelaySignIn("https://relay.example", "mal", TokenFile(File(context.noBackupFilesDir, "tokens.json")))
//     job = lifecycleScope.launch {
//         try {
//             val tokens = relay.tokens(onPrompt = ::showPrompt, onCountdown = ::showSeconds)
//         } catch (failure: SignInFailure) {
//             showError(failure.code)
//         }
//     }
//     override fun onBackPressed() = job.cancel()      // cancels the sign-in at the relay too
//
// Permission: android.permission.INTERNET.
package example.relay

import java.io.File
import java.io.IOException
import java.util.concurrent.TimeUnit
import kotlin.random.Random
import kotlin.time.TimeSource
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withContext
import kotlinx.coroutines.Dispatchers
import okhttp3.Call
import okhttp3.Callback
import okhttp3.HttpUrl.Companion.toHttpUrl
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import org.json.JSONException
import org.json.JSONObject
import kotlin.coroutines.resume

private const val WAIT_SECONDS = 25L // The relay holds a poll this long. Some proxies cut a request after 30 s.
private const val TRIES = 6 // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
private const val LINKS = 3 // A link that has expired is replaced, but not for ever on a forgotten screen.

/**
 * Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
 * expired, refused, unreachable, invalid_grant (refresh only: sign in again).
 */
class SignInFailure(val code: String, detail: String = "") : Exception("$code $detail".trim())

/** Show link, userCode with codeAddress, and the picture at qr. */
class Prompt(val link: String, val userCode: String, val codeAddress: String, val qr: String)

class Tokens(val accessToken: String, val refreshToken: String?, val expiresIn: Long?)

/** In the app's own storage, which other apps cannot read; noBackupFilesDir is in no backup. */
class TokenFile(private val file: File) {
    fun save(tokens: Tokens) {
        val json = JSONObject().put("accessToken", tokens.accessToken)
            .putOpt("refreshToken", tokens.refreshToken).putOpt("expiresIn", tokens.expiresIn)
        val written = File(file.path + ".new")
        written.writeText(json.toString())
        if (!written.renameTo(file)) throw IOException("could not save the tokens")
    }

    fun load(): Tokens? = try {
        JSONObject(file.readText()).toTokens()
    } catch (missing: IOException) {
        null
    } catch (broken: JSONException) {
        null
    }
}

private fun JSONObject.toTokens(): Tokens? {
    val accessToken = optString("accessToken").ifEmpty { return null }
    val expiresIn = optLong("expiresIn", -1).takeIf { it >= 0 }
    return Tokens(accessToken, optString("refreshToken").ifEmpty { null }, expiresIn)
}

class RelaySignIn(private val relay: String, private val service: String, private val file: TokenFile) {
    // OkHttp reads for 10 s by default, which is shorter than a poll.
    private val http = OkHttpClient.Builder()
        .readTimeout(WAIT_SECONDS + 15, TimeUnit.SECONDS)
        .callTimeout(WAIT_SECONDS + 20, TimeUnit.SECONDS)
        .build()

    /** Status 0: no complete response. */
    private class Reply(val status: Int, val json: JSONObject?, val text: String, val pauseMs: Long) {
        val isRefusal get() = status in 400..499 && status != 429
    }

    private class Session(val secret: String, val lifetimeSeconds: Long) {
        // Not the clock of the device, which may not be set yet.
        private val startedAt = TimeSource.Monotonic.markNow()

        val secondsLeft get() = maxOf(0, (lifetimeSeconds.seconds - startedAt.elapsedNow()).inWholeSeconds)
    }

    /** Refreshes what is saved, or signs in. Cancel the coroutine to cancel the sign-in. */
    suspend fun tokens(onPrompt: (Prompt) -> Unit, onCountdown: (Long) -> Unit): Tokens {
        val saved = withContext(Dispatchers.IO) { file.load() }
        if (saved?.refreshToken != null) {
            try {
                return refresh(saved.refreshToken)
            } catch (failure: SignInFailure) {
                if (failure.code != "invalid_grant") throw failure
            }
        }
        repeat(LINKS) {
            val session = start(onPrompt)
            try {
                return signIn(session, onCountdown)
            } catch (cancelled: CancellationException) {
                // The link then says that the device cancelled the sign-in.
                withContext(NonCancellable) { tell(session, "cancel") }
                throw cancelled
            } catch (failure: SignInFailure) {
                if (failure.code != "expired") throw failure
            }
        }
        throw SignInFailure("expired")
    }

    private suspend fun signIn(session: Session, onCountdown: (Long) -> Unit): Tokens = coroutineScope {
        val countdown = launch {
            while (true) {
                onCountdown(session.secondsLeft)
                delay(1_000)
            }
        }
        val tokens = try {
            waitForTokens(session)
        } finally {
            countdown.cancel()
        }
        // They are delivered once: from here on nothing may be interrupted.
        withContext(NonCancellable) {
            withContext(Dispatchers.IO) { file.save(tokens) }
            tell(session, "ack") // If it fails, the relay forgets them after 60 s.
        }
        tokens
    }

    private suspend fun start(onPrompt: (Prompt) -> Unit): Session {
        val body = JSONObject().put("service", service).put("code", true).put("ack", true)
            .put("device", android.os.Build.MODEL)
        val started = retry("/auth/start", body) { reply -> reply.json?.takeIf { reply.status == 200 } }
        onPrompt(
            Prompt(started.getString("link"), started.getString("userCode"), "$relay/link", started.getString("qr")),
        )
        return Session(started.getString("session"), started.getLong("expiresIn"))
    }

    private suspend fun waitForTokens(session: Session): Tokens {
        // After a sleep the next poll says whether the link is still valid: 410 if not.
        while (session.secondsLeft > 0) {
            val askedAt = TimeSource.Monotonic.markNow()
            val reply = ask(resultPath(session, "wait", WAIT_SECONDS), null)
            if (reply.status == 200 && reply.json != null) {
                reply.json.optString("error").ifEmpty { null }?.let { throw SignInFailure(it) }
                reply.json.toTokens()?.let { return it }
            }
            if (reply.status == 410) break
            if (reply.status == 400) throw SignInFailure("refused", reply.text)
            // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            val pauseMs = if (reply.status == 204) 1_000 - askedAt.elapsedNow().inWholeMilliseconds else reply.pauseMs
            delay(minOf(pauseMs, session.secondsLeft * 1_000))
        }
        throw SignInFailure("expired")
    }

    /** unreachable: keep the old tokens and try later. invalid_grant: sign in again. */
    suspend fun refresh(refreshToken: String): Tokens {
        val body = JSONObject().put("service", service).put("refreshToken", refreshToken)
        val fresh = retry("/refresh", body) { reply ->
            if (reply.status == 400 && reply.json?.has("error") == true) throw SignInFailure(reply.json.getString("error"))
            reply.json?.takeIf { reply.status == 200 }?.toTokens()
        }
        // Without a new refresh token the old one stays.
        val tokens = Tokens(fresh.accessToken, fresh.refreshToken ?: refreshToken, fresh.expiresIn)
        withContext(NonCancellable + Dispatchers.IO) { file.save(tokens) }
        return tokens
    }

    private suspend fun <Result : Any> retry(path: String, body: JSONObject, read: (Reply) -> Result?): Result {
        repeat(TRIES) {
            val reply = ask(path, body)
            read(reply)?.let { return it }
            if (reply.isRefusal) throw SignInFailure("refused", reply.text)
            delay(reply.pauseMs)
        }
        throw SignInFailure("unreachable")
    }

    private suspend fun tell(session: Session, parameter: String) {
        repeat(TRIES) {
            val reply = ask(resultPath(session, parameter, 1), null)
            if (reply.status in listOf(204, 400, 410)) return
            delay(reply.pauseMs)
        }
    }

    private fun resultPath(session: Session, parameter: String, value: Long) =
        "/auth/result?session=${session.secret}&$parameter=$value"

    private suspend fun ask(path: String, body: JSONObject?): Reply = suspendCancellableCoroutine { waiting ->
        val request = Request.Builder().url((relay + path).toHttpUrl())
            .apply { if (body != null) post(body.toString().toRequestBody("application/json".toMediaType())) }
            .build()
        // At random, so that a thousand devices do not return at the same moment.
        val pauseMs = Random.nextLong(1_000, 3_000)
        val call = http.newCall(request)
        waiting.invokeOnCancellation { call.cancel() }
        call.enqueue(object : Callback {
            override fun onFailure(call: Call, e: IOException) {
                waiting.resume(Reply(0, null, "", pauseMs))
            }

            override fun onResponse(call: Call, response: Response) {
                val reply = try {
                    response.use {
                        val text = it.body?.string().orEmpty()
                        val retryAfter = it.header("Retry-After")?.toLongOrNull()?.coerceIn(0, 60) ?: 0
                        Reply(it.code, text.toJsonOrNull(), text.trim().take(100), pauseMs + retryAfter * 1_000)
                    }
                } catch (cutOff: IOException) {
                    Reply(0, null, "", pauseMs)
                }
                waiting.resume(reply)
            }
        })
    }

    private fun String.toJsonOrNull() = try {
        JSONObject(this)
    } catch (page: JSONException) {
        null
    }
}
