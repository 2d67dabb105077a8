// What a finished app adds to SignIn.cs: tokens that are kept and refreshed when that is due, another link for
// one that has expired, a countdown, and cancelling.
//
//   dotnet run -- https://relay.example mal
using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.InteropServices;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

public sealed class SavedTokens : Tokens
{
    static readonly TimeSpan Early = TimeSpan.FromMinutes(1); // So that no token expires on its way to the provider.

    /// <summary>Milliseconds since 1970; null if the provider gave no lifetime: then it is used until the API answers 401.</summary>
    public long? ExpiresAt { get; set; }

    public static SavedTokens From(Tokens tokens, string oldRefreshToken = null) => new SavedTokens
    {
        AccessToken = tokens.AccessToken,
        RefreshToken = tokens.RefreshToken ?? oldRefreshToken,
        ExpiresIn = tokens.ExpiresIn,
        ExpiresAt = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + tokens.ExpiresIn * 1000,
    };

    public bool IsDue()
    {
        var leftMs = ExpiresAt - DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        // More left than there ever was: the clock was set back since, and says nothing about the token.
        return leftMs < Early.TotalMilliseconds || leftMs > ExpiresIn * 1000;
    }
}

public sealed class App
{
    const int Links = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
    const string Saved = "tokens.json";

    readonly string relay;
    readonly SignIn signIn;

    public App(string relay, string service)
    {
        this.relay = relay;
        signIn = new SignIn(relay, service);
    }

    /// <summary>Cancel the token when the user presses Back.</summary>
    public async Task<SavedTokens> GetTokens(CancellationToken cancelled)
    {
        var saved = Load();
        if (saved?.AccessToken != null && !saved.IsDue()) return saved;
        if (saved?.RefreshToken != null)
        {
            try
            {
                return await Refresh(saved.RefreshToken);
            }
            catch (SignInException failure) when (failure.Code == "invalid_grant")
            {
                // Sign in again.
            }
        }
        return await SignInAnew(cancelled);
    }

    /// <summary>Also when the provider's API answers 401. Not to be cancelled: a refresh token may be good for one use.</summary>
    public async Task<SavedTokens> Refresh(string refreshToken) =>
        Save(SavedTokens.From(await signIn.Refresh(refreshToken), refreshToken));

    async Task<SavedTokens> SignInAnew(CancellationToken cancelled)
    {
        for (var link = 0; link < Links; link++)
        {
            var started = await signIn.Start("Living room", cancelled);
            Tokens tokens;
            try
            {
                using (Show(started)) tokens = await signIn.WaitForTokens(started, cancelled);
            }
            catch (SignInException failure) when (failure.Code == "expired")
            {
                continue;
            }
            catch (OperationCanceledException)
            {
                await signIn.Cancel(started);
                throw;
            }
            var saved = Save(SavedTokens.From(tokens));
            await signIn.Acknowledge(started);
            return saved;
        }
        throw new SignInException("expired");
    }

    /// <summary>Disposing of what it returns ends the countdown.</summary>
    IDisposable Show(Started started)
    {
        Console.WriteLine("Open " + started.Link);
        Console.WriteLine("or type " + started.UserCode + " at " + relay + "/link");
        Console.WriteLine("QR code: " + started.Qr);
        var age = Stopwatch.StartNew();
        return new Timer(ignored =>
        {
            var left = TimeSpan.FromSeconds(started.ExpiresIn) - age.Elapsed;
            if (left > TimeSpan.Zero) Console.Error.Write("\r{0}:{1:00} ", (int)left.TotalMinutes, left.Seconds);
        }, null, 0, 1000);
    }

    [DllImport("libc", SetLastError = true)]
    static extern int chmod(string path, uint mode);

    /// <summary>Readable by this user only, and never half written.</summary>
    static SavedTokens Save(SavedTokens tokens)
    {
        // A name of this process, beside which another one may save.
        var written = Saved + "." + Process.GetCurrentProcess().Id;
        File.WriteAllText(written, "");
        // From .NET 7 on: FileStreamOptions.UnixCreateMode. On Windows the user's own folder has to do.
        if (Path.DirectorySeparatorChar == '/' && chmod(written, 0x180 /* 0600 */) != 0) throw new IOException("could not protect the tokens");
        File.WriteAllText(written, JsonSerializer.Serialize(tokens, SignIn.Json));
        if (File.Exists(Saved)) File.Replace(written, Saved, null);
        else File.Move(written, Saved);
        return tokens;
    }

    static SavedTokens Load()
    {
        try
        {
            return File.Exists(Saved) ? JsonSerializer.Deserialize<SavedTokens>(File.ReadAllText(Saved), SignIn.Json) : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }

    public static int Main(string[] args) => Run(args).GetAwaiter().GetResult();

    static async Task<int> Run(string[] args)
    {
        var app = new App(args[0].TrimEnd('/'), args[1]);
        var cancel = new CancellationTokenSource();
        // Enter cancels; on a television, the Back key. At the end of the input nobody can press it.
        var keys = new Thread(() => { if (Console.ReadLine() != null) cancel.Cancel(); }) { IsBackground = true };
        keys.Start();
        try
        {
            await app.GetTokens(cancel.Token);
            Console.WriteLine("Signed in.");
            return 0;
        }
        catch (SignInException failure)
        {
            Console.Error.WriteLine("\n" + failure.Message);
            return 1;
        }
        catch (OperationCanceledException)
        {
            Console.Error.WriteLine("\ncancelled");
            return 130;
        }
    }
}
