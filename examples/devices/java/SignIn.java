import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
 * Java 17 or newer, and Gson. What a finished app adds is in App.java.
 */
record SignIn(String relay, String service) {
    static final int WAIT_SECONDS = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
    static final int TRIES = 6; // For all but a poll, which is repeated until the link expires.
    static final int TIMEOUT_SECONDS = WAIT_SECONDS + 15;
    static final int SHORT_TIMEOUT_SECONDS = 5; // To acknowledge and cancel: the user waits, and the relay forgets in 60 s.
    static final Gson GSON = new Gson();
    static final HttpClient HTTP = HttpClient.newHttpClient();

    /** Show link, userCode and qr. The session is for this device alone: never show it, log it or put it into a link. */
    record Started(String session, String link, String userCode, String qr, long expiresIn) {}

    record Tokens(String accessToken, String refreshToken, Long expiresIn) {}

    Started start(String device) throws Failure, InterruptedException {
        var reply = retry("/auth/start", Map.of("service", service, "code", true, "ack", true, "device", device));
        if (!reply.json.has("session")) throw reply.failure();
        return GSON.fromJson(reply.json, Started.class);
    }

    Tokens waitForTokens(Started started) throws Failure, InterruptedException {
        // Not by the clock, which may not be set yet. After a sleep the relay says whether the link has expired.
        long endNs = System.nanoTime() + Duration.ofSeconds(started.expiresIn).toNanos();
        while (System.nanoTime() < endNs) {
            var reply = ask("/auth/result?session=" + started.session + "&wait=" + WAIT_SECONDS, null, TIMEOUT_SECONDS);
            if (reply.json.has("accessToken")) return GSON.fromJson(reply.json, Tokens.class);
            if (reply.status == 410) break;
            if (reply.status == 400 || reply.json.has("error")) throw reply.failure();
            Thread.sleep(reply.pauseMs); // Not yet; or 429, 5xx, a page of a proxy, no network.
        }
        throw new Failure("expired", "");
    }

    /** Once they are saved, and never before. If it fails, the relay forgets them after 60 s. */
    void acknowledge(Started started) throws InterruptedException {
        retry("/auth/result?session=" + started.session + "&ack=1", null);
    }

    /** Repeats a request that failed for a while. One without a body acknowledges or cancels. */
    Reply retry(String path, Object body) throws InterruptedException {
        int timeoutSeconds = body == null ? SHORT_TIMEOUT_SECONDS : TIMEOUT_SECONDS;
        var reply = ask(path, body, timeoutSeconds);
        for (int tried = 1; tried < TRIES && reply.isTransient(); tried++) {
            Thread.sleep(reply.pauseMs);
            reply = ask(path, body, timeoutSeconds);
        }
        return reply;
    }

    Reply ask(String path, Object body, int timeoutSeconds) throws InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(relay + path));
        if (body != null) request.header("Content-Type", "application/json").POST(BodyPublishers.ofString(GSON.toJson(body)));
        // At random, so that a thousand devices do not return at the same moment.
        long pauseMs = ThreadLocalRandom.current().nextLong(1_000, 3_000);
        try {
            var response = receive(request.build(), timeoutSeconds);
            var retryAfter = response.headers().firstValue("Retry-After").filter(value -> value.matches("\\d{1,9}"));
            pauseMs += Math.min(60, retryAfter.map(Long::valueOf).orElse(0L)) * 1_000;
            return new Reply(response.statusCode(), response.body().strip(), parse(response.body()), pauseMs);
        } catch (IOException lost) {
            return new Reply(0, "", new JsonObject(), pauseMs);
        }
    }

    /** Without a timeout a socket that died while the device slept would hang. HttpRequest.timeout ends with the headers. */
    static HttpResponse<String> receive(HttpRequest request, int timeoutSeconds) throws IOException, InterruptedException {
        var response = HTTP.sendAsync(request, BodyHandlers.ofString());
        try {
            return response.get(timeoutSeconds, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException lost) {
            throw new IOException(lost);
        } finally {
            response.cancel(true); // Frees the connection after a timeout or an interrupt.
        }
    }

    /** Empty for what is no JSON object, such as a page of a proxy. */
    static JsonObject parse(String text) {
        try {
            return JsonParser.parseString(text).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException page) {
            return new JsonObject();
        }
    }

    /** Status 0: no complete response. */
    record Reply(int status, String text, JsonObject json, long pauseMs) {
        boolean isTransient() {
            return status == 0 || status == 200 && json.size() == 0 || status == 429 || status >= 500;
        }

        Failure failure() {
            if (json.has("error")) return new Failure(json.get("error").getAsString(), "");
            return new Failure(isTransient() ? "unreachable" : "refused", text);
        }
    }

    /**
     * Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
     * expired, refused, unreachable, invalid_grant (refresh only: sign in again).
     */
    static final class Failure extends Exception {
        final String code;

        Failure(String code, String detail) {
            super(detail.isEmpty() ? code : code + ": " + detail);
            this.code = code;
        }
    }
}
