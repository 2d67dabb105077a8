// Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
// Kotlin, OkHttp 4 or 5, kotlinx.coroutines; Android 5 or newer. What a finished app adds is in RelayTokens.kt.
package example.relay

import java.io.IOException
import java.util.concurrent.TimeUnit
import kotlin.coroutines.resume
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlinx.coroutines.delay
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlinx.coroutines.withTimeoutOrNull
import okhttp3.Call
import okhttp3.Callback
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import org.json.JSONObject

private const val WAIT_SECONDS = 25L // The relay holds a poll this long. Some proxies cut a request after 30 s.
private const val MAX_BYTES = 65_536L // More than any response of a relay: one that never ends fills no memory.
private const val TRIES = 6 // Only a poll is repeated until the link expires.
private const val TIMEOUT_MS = WAIT_SECONDS * 1_000 + 15_000 // A socket that died while the device slept would hang.
private const val SHORT_TIMEOUT_MS = 5_000L // To acknowledge and cancel: the user waits, and the relay forgets in 60 s.

/** Show link, userCode and the picture at qr. The session is for this device alone: never show it, log it or put it into a link. */
class Started(val session: String, val link: String, val userCode: String, val qr: String, val expiresIn: Long)

/** By name: nothing else of a relay is kept. */
open class Tokens(json: JSONObject) {
    val accessToken: String = json.getString("accessToken")
    val refreshToken = json.opt("refreshToken") as? String
    val expiresIn = json.optLong("expiresIn").takeIf { it > 0 }
}

class RelaySignIn(val relay: String, private val service: String) {
    suspend fun start(device: String): Started {
        val body = JSONObject().put("service", service).put("code", true).put("ack", true).put("device", device)
        val json = askUntilAnswered("/auth/start", body, "link")
        return Started(
            json.getString("session"), json.getString("link"), json.getString("userCode"), json.getString("qr"), json.getLong("expiresIn"),
        )
    }

    suspend fun waitForTokens(started: Started): Tokens {
        // Not by the clock, which may not be set yet.
        val expiresAt = TimeSource.Monotonic.markNow() + started.expiresIn.seconds
        while (true) {
            val reply = ask("/auth/result?session=${started.session}&wait=$WAIT_SECONDS")
            if (reply.has("accessToken")) return Tokens(reply.json)
            if (reply.has("error") || reply.status == 400) throw reply.refusal()
            // The relay decides when the link has expired. The time here ends only polls that fail.
            if (reply.status == 410 || reply.status != 204 && expiresAt.hasPassedNow()) throw SignInFailure("expired")
            delay(reply.pauseMs) // Not yet; or 429, 5xx, a page of a proxy, no network.
        }
    }

    /** Once they are saved, and never before. If it fails, the relay forgets them after 60 s. */
    suspend fun acknowledge(started: Started) = tell(started, "ack")

    /** The link then says that the device cancelled the sign-in. The next sign-in waits for this. */
    suspend fun cancel(started: Started) {
        withTimeoutOrNull(SHORT_TIMEOUT_MS) { tell(started, "cancel") }
    }

    private suspend fun tell(started: Started, what: String) {
        repeat(TRIES) {
            val reply = ask("/auth/result?session=${started.session}&$what=1", timeoutMs = SHORT_TIMEOUT_MS)
            if (reply.status == 204 || reply.status == 400 || reply.status == 410) return
            delay(reply.pauseMs)
        }
    }

    /** unreachable: keep the old tokens and try later. invalid_grant: sign in again. */
    suspend fun refresh(refreshToken: String): Tokens {
        val body = JSONObject().put("service", service).put("refreshToken", refreshToken)
        return Tokens(askUntilAnswered("/refresh", body, "accessToken"))
    }

    /** The JSON object of a 200 that has the member. Tries again what may pass. */
    private suspend fun askUntilAnswered(path: String, body: JSONObject, member: String): JSONObject {
        var reply = Reply(0)
        repeat(TRIES) { tried ->
            if (tried > 0) delay(reply.pauseMs)
            reply = ask(path, body)
            if (reply.has(member)) return reply.json
            if (reply.status in 400..499 && reply.status != 429) throw reply.refusal()
        }
        throw SignInFailure("unreachable", if (reply.status == 0) relay else "")
    }

    // OkHttp reads for 10 s by default, which is shorter than a poll.
    private val http = OkHttpClient.Builder()
        .readTimeout(TIMEOUT_MS, TimeUnit.MILLISECONDS)
        .followRedirects(false) // One could lead tokens to another server, and a captive portal's may pass.
        .build()

    private suspend fun ask(path: String, body: JSONObject? = null, timeoutMs: Long = TIMEOUT_MS) =
        withTimeoutOrNull(timeoutMs) { send(path, body) } ?: Reply(0)

    private suspend fun send(path: String, body: JSONObject?): Reply = suspendCancellableCoroutine { waiting ->
        val request = Request.Builder().url(relay + path)
        if (body != null) request.post(body.toString().toRequestBody("application/json".toMediaType()))
        val call = http.newCall(request.build())
        waiting.invokeOnCancellation { call.cancel() }
        call.enqueue(object : Callback {
            override fun onFailure(call: Call, e: IOException) = waiting.resume(Reply(0))

            override fun onResponse(call: Call, response: Response) {
                val reply = try {
                    val retryAfter = response.header("Retry-After")?.toLongOrNull() ?: 0
                    response.use { Reply(it.code, it.peekBody(MAX_BYTES).string().trim(), retryAfter) }
                } catch (cutOff: IOException) {
                    Reply(0)
                }
                waiting.resume(reply)
            }
        })
    }
}

/** Status 0: no complete response. */
private class Reply(val status: Int, private val text: String = "", retryAfterSeconds: Long = 0) {
    /** Empty for what is no JSON object, such as a page of a proxy. */
    val json = try {
        JSONObject(text)
    } catch (page: Throwable) { // JSONException, or a StackOverflowError of what is nested too deeply.
        JSONObject()
    }

    // At random, so that a thousand devices do not return at the same moment.
    val pauseMs = if (status == 204) 1_000 else Random.nextLong(1_000, 3_000) + retryAfterSeconds.coerceIn(0, 60) * 1_000

    fun has(member: String) = status == 200 && json.has(member)

    fun refusal() = if (json.has("error")) SignInFailure(json.getString("error")) else SignInFailure("refused", text.take(100))
}

/**
 * Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
 * expired, refused, unreachable, invalid_grant (refresh only: sign in again), not_saved (RelayTokens: the storage is full;
 * until the app ends the next calls return the tokens).
 */
class SignInFailure(val code: String, detail: String = "") : Exception(if (detail.isEmpty()) code else "$code: $detail")
