import com.google.gson.JsonSyntaxException;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What a finished app adds to SignIn.java: tokens that are kept and refreshed when that is due, another link
 * for one that has expired, a countdown, and cancelling.
 *
 *   javac -cp gson.jar SignIn.java App.java && java -cp gson.jar:. App https://relay.example mal
 */
final class App {
    static final int LINKS = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
    static final long EARLY_MS = 60_000; // Before it expires, so that no token expires on its way to the provider.
    static final Path SAVED = Path.of("tokens.json");

    /** expiresAt in milliseconds since 1970; null if the provider gave no lifetime: then it is used until the API answers 401. */
    record Saved(String accessToken, String refreshToken, Long expiresIn, Long expiresAt) {
        static Saved from(SignIn.Tokens tokens, String oldRefreshToken) {
            Long expiresIn = tokens.expiresIn();
            return new Saved(
                tokens.accessToken(),
                tokens.refreshToken() == null ? oldRefreshToken : tokens.refreshToken(),
                expiresIn,
                expiresIn == null ? null : System.currentTimeMillis() + expiresIn * 1_000);
        }

        /** More left than there ever was: the clock was set back since, and says nothing about the token. */
        boolean isDue() {
            if (expiresAt == null) return false;
            long leftMs = expiresAt - System.currentTimeMillis();
            return leftMs < EARLY_MS || leftMs > expiresIn * 1_000;
        }
    }

    final SignIn signIn;

    App(SignIn signIn) {
        this.signIn = signIn;
    }

    /** While a link is shown. */
    private volatile Thread waiting;

    /** From another thread: for the Back key. A refresh goes on, because a refresh token may be good for one use. */
    void cancel() {
        Thread thread = waiting;
        if (thread != null) thread.interrupt();
    }

    Saved tokens() throws SignIn.Failure, InterruptedException, IOException {
        Saved saved = load();
        if (saved != null && saved.accessToken != null && !saved.isDue()) return saved;
        if (saved != null && saved.refreshToken != null) {
            try {
                return refresh(saved.refreshToken);
            } catch (SignIn.Failure failure) {
                if (!failure.code.equals("invalid_grant")) throw failure;
            }
        }
        waiting = Thread.currentThread();
        try {
            return signInAnew();
        } finally {
            waiting = null;
        }
    }

    /** Also when the provider's API answers 401. unreachable: keep the old tokens and try later. invalid_grant: sign in again. */
    Saved refresh(String refreshToken) throws SignIn.Failure, InterruptedException, IOException {
        var reply = signIn.retry("/refresh", Map.of("service", signIn.service(), "refreshToken", refreshToken));
        if (!reply.json().has("accessToken")) throw reply.failure();
        return save(Saved.from(SignIn.GSON.fromJson(reply.json(), SignIn.Tokens.class), refreshToken));
    }

    Saved signInAnew() throws SignIn.Failure, InterruptedException, IOException {
        for (int link = 0; link < LINKS; link++) {
            var started = signIn.start("Living room");
            var countdown = show(started);
            SignIn.Tokens tokens;
            try {
                tokens = signIn.waitForTokens(started);
            } catch (InterruptedException cancelled) {
                // The link then says that the device cancelled.
                signIn.retry("/auth/result?session=" + started.session() + "&cancel=1", null);
                throw cancelled;
            } catch (SignIn.Failure failure) {
                if (!failure.code.equals("expired")) throw failure;
                continue;
            } finally {
                countdown.interrupt();
                countdown.join();
            }
            Saved saved = save(Saved.from(tokens, null));
            signIn.acknowledge(started);
            return saved;
        }
        throw new SignIn.Failure("expired", "");
    }

    Thread show(SignIn.Started started) {
        System.out.println("Open " + started.link());
        System.out.println("or type " + started.userCode() + " at " + signIn.relay() + "/link");
        System.out.println("QR code: " + started.qr());
        var countdown = new Thread(() -> {
            long endNs = System.nanoTime() + Duration.ofSeconds(started.expiresIn()).toNanos();
            for (long left; (left = Duration.ofNanos(endNs - System.nanoTime()).toSeconds()) > 0; ) {
                System.err.printf("\r%d:%02d ", left / 60, left % 60);
                try {
                    Thread.sleep(1_000);
                } catch (InterruptedException ended) {
                    return;
                }
            }
        });
        countdown.setDaemon(true);
        countdown.start();
        return countdown;
    }

    /** Readable by this user only, and never half written. On Windows, leave out the permissions. */
    static Saved save(Saved tokens) throws IOException {
        // A name of this process, beside which another one may save.
        Path written = Path.of(SAVED + "." + ProcessHandle.current().pid());
        Files.deleteIfExists(written);
        Files.createFile(written, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        // Not Files.writeString, which an interrupt ends.
        try (var file = new FileWriter(written.toFile(), StandardCharsets.UTF_8)) {
            SignIn.GSON.toJson(tokens, file);
        }
        Files.move(written, SAVED, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        return tokens;
    }

    static Saved load() throws IOException {
        try {
            return Files.exists(SAVED) ? SignIn.GSON.fromJson(Files.readString(SAVED), Saved.class) : null;
        } catch (JsonSyntaxException broken) {
            return null;
        }
    }

    public static void main(String[] args) throws IOException {
        var app = new App(new SignIn(args[0].replaceAll("/+$", ""), args[1]));
        var over = new CountDownLatch(1);
        // Ctrl-C. On a television: the Back key. Java ends with this thread, and main has to tell the relay first.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            app.cancel();
            try {
                over.await(10, TimeUnit.SECONDS);
            } catch (InterruptedException ended) {
                // The system does not wait any longer.
            }
        }));
        int exitCode = 1;
        try {
            exitCode = app.runAndReport();
        } finally {
            over.countDown();
        }
        System.exit(exitCode);
    }

    int runAndReport() throws IOException {
        try {
            tokens();
            System.out.println("Signed in.");
            return 0;
        } catch (SignIn.Failure failure) {
            System.err.println("\n" + failure.getMessage());
            return 1;
        } catch (InterruptedException cancelled) {
            System.err.println("\ncancelled");
            return 130;
        }
    }
}
