import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Signs a user in through a Sign-in Relay. Java 11 or newer, no library.
 *
 *   java SignIn.java https://relay.example mal
 *
 * The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
 */
public final class SignIn {
    static final int WAIT_SECONDS = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
    static final int TRIES = 6; // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
    static final int LINKS = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
    static final Path SAVED = Path.of("tokens.json");

    /**
     * Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
     * expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again).
     */
    static final class Failure extends Exception {
        final String code;

        Failure(String code, String detail) {
            super(detail.isEmpty() ? code : code + ": " + detail);
            this.code = code;
        }

        Failure(String code) {
            this(code, "");
        }
    }

    /** Status 0: no complete response. A body that is no JSON object has no members. */
    static final class Reply {
        int status = 0;
        String text = "";
        Map<String, String> members = Map.of();
        // At random, so that a thousand devices do not return at the same moment.
        long pauseMs = ThreadLocalRandom.current().nextLong(1_000, 3_000);

        boolean isRefusal() {
            return status >= 400 && status < 500 && status != 429;
        }

        String get(String name) {
            return members.getOrDefault(name, "");
        }
    }

    final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(15)).build();
    final String relay;
    final String service;

    /** Of the link that is shown. Only for this device: never show it, log it or put it into a link. */
    volatile String session = "";
    volatile long expiresAtNs;
    volatile boolean isCancelled;

    SignIn(String relay, String service) {
        this.relay = relay;
        this.service = service;
    }

    Reply ask(String path, String body) throws InterruptedException {
        var reply = new Reply();
        // Without a timeout a socket that died while the device slept would hang.
        var request = HttpRequest.newBuilder(URI.create(relay + path)).timeout(Duration.ofSeconds(WAIT_SECONDS + 15));
        if (body != null) {
            request.header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body));
        }
        try {
            var response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
            reply.status = response.statusCode();
            reply.text = response.body().strip();
            reply.members = members(reply.text);
            response.headers().firstValue("Retry-After").filter(value -> value.matches("\\d{1,4}"))
                .ifPresent(value -> reply.pauseMs += Math.min(Integer.parseInt(value), 60) * 1_000L);
        } catch (IOException lost) {
            // As if there was no response.
        }
        return reply;
    }

    /** The relay's answers are flat objects of strings, numbers and booleans. */
    static Map<String, String> members(String json) {
        var members = new HashMap<String, String>();
        if (!json.startsWith("{") || !json.endsWith("}")) return members;
        Matcher member = Pattern.compile("\"(\\w+)\"\\s*:\\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|(-?\\d+|true|false))").matcher(json);
        while (member.find()) {
            members.put(member.group(1), member.group(2) == null ? member.group(3) : unescape(member.group(2)));
        }
        return members;
    }

    static String unescape(String text) {
        return Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))").matcher(text).replaceAll(match -> {
            if (match.group(1) != null) {
                return Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(match.group(1), 16)));
            }
            int at = "bfnrt".indexOf(match.group(2));
            return Matcher.quoteReplacement(at < 0 ? match.group(2) : String.valueOf("\b\f\n\r\t".charAt(at)));
        });
    }

    static String quote(String text) {
        var quoted = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') quoted.append('\\').append(each);
            else if (each < ' ') quoted.append(String.format("\\u%04x", (int) each));
            else quoted.append(each);
        }
        return quoted.append('"').toString();
    }

    Reply askSession(String query) throws InterruptedException {
        return ask("/auth/result?session=" + URLEncoder.encode(session, StandardCharsets.UTF_8) + "&" + query, null);
    }

    long leftMs() {
        return Math.max(0, (expiresAtNs - System.nanoTime()) / 1_000_000);
    }

    /** Returns session, link, userCode, qr. */
    Map<String, String> start(String device) throws Failure, InterruptedException {
        String body = String.format("{\"service\":%s,\"code\":true,\"ack\":true,\"device\":%s}", quote(service), quote(device));
        var reply = new Reply();
        for (int tried = 0; tried < TRIES && !isCancelled; tried++) {
            reply = ask("/auth/start", body);
            if (reply.status == 200 && !reply.get("session").isEmpty()) {
                session = reply.get("session");
                expiresAtNs = System.nanoTime() + Long.parseLong(reply.get("expiresIn")) * 1_000_000_000L;
                return reply.members;
            }
            if (reply.isRefusal()) throw new Failure("refused", reply.text);
            Thread.sleep(reply.pauseMs);
        }
        throw isCancelled ? new Failure("cancelled") : new Failure("unreachable", reply.text);
    }

    Map<String, String> waitForTokens() throws Failure, InterruptedException {
        // After a sleep the next poll says whether the link is still valid: 410 if not.
        while (leftMs() > 0 && !isCancelled) {
            long askedAtNs = System.nanoTime();
            Reply reply = askSession("wait=" + WAIT_SECONDS);
            if (reply.status == 200 && !reply.get("error").isEmpty()) throw new Failure(reply.get("error"));
            if (reply.status == 200 && !reply.get("accessToken").isEmpty()) return reply.members;
            if (reply.status == 410) break;
            if (reply.status == 400) throw new Failure("refused", reply.text);
            // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            if (reply.status == 204) reply.pauseMs = Math.max(0, 1_000 - (System.nanoTime() - askedAtNs) / 1_000_000);
            Thread.sleep(Math.min(reply.pauseMs, leftMs()));
        }
        throw new Failure(isCancelled ? "cancelled" : "expired");
    }

    void tell(String query) throws InterruptedException {
        for (int tried = 0; tried < TRIES; tried++) {
            Reply reply = askSession(query);
            if (reply.status == 204 || reply.status == 400 || reply.status == 410) return;
            Thread.sleep(reply.pauseMs);
        }
    }

    /** Call it from another thread. The relay ends the poll, and the link says that the device cancelled. */
    void cancel() throws InterruptedException {
        isCancelled = true;
        if (!session.isEmpty()) tell("cancel=1");
    }

    interface Save {
        void save(Map<String, String> tokens) throws IOException;
    }

    void signIn(Consumer<Map<String, String>> show, Save save) throws Failure, InterruptedException, IOException {
        for (int link = 0; link < LINKS; link++) {
            show.accept(start("Living room"));
            try {
                save.save(waitForTokens());
                // If it fails, the relay forgets them after 60 s.
                tell("ack=1");
                return;
            } catch (Failure failure) {
                if (!failure.code.equals("expired")) throw failure;
            }
        }
        throw new Failure("expired");
    }

    /** unreachable: keep the old tokens and try later. invalid_grant: sign in again. */
    Map<String, String> refresh(String refreshToken) throws Failure, InterruptedException {
        String body = String.format("{\"service\":%s,\"refreshToken\":%s}", quote(service), quote(refreshToken));
        var reply = new Reply();
        for (int tried = 0; tried < TRIES; tried++) {
            reply = ask("/refresh", body);
            if (reply.status == 200 && !reply.get("accessToken").isEmpty()) {
                var tokens = new HashMap<>(reply.members);
                tokens.putIfAbsent("refreshToken", refreshToken); // The old one stays.
                return tokens;
            }
            if (reply.status == 400 && !reply.get("error").isEmpty()) throw new Failure(reply.get("error"));
            if (reply.isRefusal()) throw new Failure("refused", reply.text);
            Thread.sleep(reply.pauseMs);
        }
        throw new Failure("unreachable", reply.text);
    }

    /** Readable by this user only, and never half written. On Windows, leave out the permissions. */
    static void saveTokens(Map<String, String> tokens) throws IOException {
        var json = new StringBuilder();
        tokens.forEach((name, value) -> json.append(json.length() == 0 ? "{" : ",").append(quote(name)).append(':')
            .append(value.matches("\\d{1,18}") && name.equals("expiresIn") ? value : quote(value)));
        Path written = Path.of(SAVED + ".new");
        Files.deleteIfExists(written);
        Files.createFile(written, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(written, json.append('}'));
        Files.move(written, SAVED, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    void run() throws Failure, InterruptedException, IOException {
        String refreshToken = Files.exists(SAVED) ? members(Files.readString(SAVED)).getOrDefault("refreshToken", "") : "";
        if (!refreshToken.isEmpty()) {
            try {
                saveTokens(refresh(refreshToken));
                return;
            } catch (Failure failure) {
                if (!failure.code.equals("invalid_grant")) throw failure;
            }
        }
        signIn(this::show, SignIn::saveTokens);
    }

    void show(Map<String, String> started) {
        System.out.println("Open " + started.get("link"));
        System.out.println("or type " + started.get("userCode") + " at " + relay + "/link");
        System.out.println("QR code: " + started.get("qr"));
    }

    void countDown() {
        try {
            while (true) {
                long left = leftMs() / 1_000;
                if (left > 0) System.err.printf("\r%d:%02d ", left / 60, left % 60);
                Thread.sleep(1_000);
            }
        } catch (InterruptedException ended) {
            // With the program.
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        var signIn = new SignIn(args[0].replaceAll("/+$", ""), args[1]);
        var countdown = new Thread(signIn::countDown);
        countdown.setDaemon(true);
        countdown.start();
        var ended = new CountDownLatch(1);
        // Ctrl-C. On a television: the Back key.
        var onInterrupt = new Thread(() -> {
            try {
                signIn.cancel();
                // Java ends with this thread, and the message below must be out by then.
                ended.await(5, TimeUnit.SECONDS);
            } catch (InterruptedException interrupted) {
                // The system does not wait any longer.
            }
        });
        Runtime.getRuntime().addShutdownHook(onInterrupt);
        Failure failed = null;
        try {
            signIn.run();
        } catch (Failure failure) {
            failed = failure;
        }
        countdown.interrupt();
        countdown.join();
        System.err.println(failed == null ? "" : "\n" + failed.getMessage());
        if (failed == null) System.out.println("Signed in.");
        ended.countDown();
        int exitCode = failed == null ? 0 : failed.code.equals("cancelled") ? 130 : 1;
        if (!signIn.isCancelled) Runtime.getRuntime().removeShutdownHook(onInterrupt);
        System.exit(exitCode);
    }
}
