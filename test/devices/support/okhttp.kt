// What the program for Android uses of OkHttp 4, over java.net.http, so that it can be run without Android.
package okhttp3

import java.io.Closeable
import java.io.IOException
import java.io.InputStream
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit

class MediaType(val text: String) {
    companion object {
        fun String.toMediaType() = MediaType(this)
    }
}

class RequestBody(val text: String, val type: MediaType?) {
    companion object {
        fun String.toRequestBody(contentType: MediaType? = null) = RequestBody(this, contentType)
    }
}

class Request(val url: String, private val headers: Map<String, String>, val body: RequestBody?) {
    fun header(name: String) = headers[name]
    fun newBuilder() = Builder(url, headers.toMutableMap(), body)

    class Builder(private var url: String = "", private val headers: MutableMap<String, String> = mutableMapOf(), private var body: RequestBody? = null) {
        fun url(url: String) = apply { this.url = url }
        fun post(body: RequestBody) = apply { this.body = body }
        fun header(name: String, value: String) = apply { headers[name] = value }
        fun build() = Request(url, headers, body)
    }
}

class ResponseBody(private val text: String) {
    fun string() = text
}

class Response(val request: Request, val priorResponse: Response?, private val answer: HttpResponse<InputStream>) : Closeable {
    val code get() = answer.statusCode()
    fun header(name: String): String? = answer.headers().firstValue(name).orElse(null)
    override fun close() = answer.body().close()

    fun peekBody(byteCount: Long) = ResponseBody(String(answer.body().readNBytes(byteCount.toInt())))
}

interface Callback {
    fun onFailure(call: Call, e: IOException)
    fun onResponse(call: Call, response: Response)
}

class Route

fun interface Authenticator {
    fun authenticate(route: Route?, response: Response): Request?
}

class Call(private val client: OkHttpClient, private val request: Request) {
    private var sent: CompletableFuture<*>? = null

    fun cancel() {
        sent?.cancel(true)
    }

    fun enqueue(callback: Callback) {
        sent = client.send(request).whenComplete { answer, error ->
            if (error == null) callback.onResponse(this, Response(request, null, answer))
            else callback.onFailure(this, IOException(error))
        }
    }

    fun execute(): Response {
        val first = Response(request, null, client.send(request).join())
        if (first.code != 401) return first
        val again = client.authenticator.authenticate(null, first) ?: return first
        return Response(again, first, client.send(again).join())
    }
}

class OkHttpClient(
    private val readTimeout: Duration,
    private val followRedirects: HttpClient.Redirect,
    val authenticator: Authenticator,
) {
    private val http = HttpClient.newBuilder().followRedirects(followRedirects).build()

    fun newCall(request: Request) = Call(this, request)

    fun send(request: Request): CompletableFuture<HttpResponse<InputStream>> {
        val built = HttpRequest.newBuilder(URI.create(request.url))
        request.header("Authorization")?.let { built.header("Authorization", it) }
        request.body?.let { built.header("Content-Type", it.type?.text).POST(HttpRequest.BodyPublishers.ofString(it.text)) }
        return http.sendAsync(built.build(), HttpResponse.BodyHandlers.ofInputStream())
            .orTimeout(readTimeout.toMillis(), TimeUnit.MILLISECONDS)
    }

    class Builder {
        private var readTimeout = Duration.ofSeconds(10)
        private var followRedirects = HttpClient.Redirect.ALWAYS
        private var authenticator = Authenticator { _, _ -> null }

        fun readTimeout(timeout: Long, unit: TimeUnit) = apply { readTimeout = Duration.of(timeout, unit.toChronoUnit()) }
        fun followRedirects(follow: Boolean) = apply { if (!follow) followRedirects = HttpClient.Redirect.NEVER }
        fun authenticator(authenticator: Authenticator) = apply { this.authenticator = authenticator }
        fun build() = OkHttpClient(readTimeout, followRedirects, authenticator)
    }
}
