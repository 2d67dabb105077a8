// Signs a user in through a Sign-in Relay: Start, show it, WaitForTokens, save them, Acknowledge.
// .NET 6 or newer; Unity and .NET Framework with the package System.Text.Json. What a finished app adds is in App.cs.
using System;
using System.Diagnostics;
using System.Net.Http;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Show Link, UserCode and Qr. Session is for this device alone: never show it, log it or put it into a link.</summary>
public sealed class Started
{
    public string Session { get; set; }
    public string Link { get; set; }
    public string UserCode { get; set; }
    public string Qr { get; set; }
    public int ExpiresIn { get; set; }
}

public class Tokens
{
    public string AccessToken { get; set; }
    public string RefreshToken { get; set; }
    public long? ExpiresIn { get; set; }
}

public sealed class SignIn
{
    const int WaitSeconds = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
    const int Tries = 6; // For all but a poll, which is repeated until the link expires.

    // Without a timeout a socket that died while the device slept would hang.
    static readonly TimeSpan RequestTimeout = TimeSpan.FromSeconds(WaitSeconds + 15);
    // To acknowledge and cancel: the user waits, and the relay forgets in 60 s.
    static readonly TimeSpan ShortTimeout = TimeSpan.FromSeconds(5);

    // One for the whole program.
    static readonly HttpClient Http = new HttpClient();
    public static readonly JsonSerializerOptions Json = new JsonSerializerOptions(JsonSerializerDefaults.Web);

    readonly string relay, service;

    public SignIn(string relay, string service)
    {
        this.relay = relay;
        this.service = service;
    }

    public async Task<Started> Start(string device, CancellationToken cancelled)
    {
        var reply = await Retry("/auth/start", new { service, code = true, ack = true, device }, cancelled);
        var started = reply.As<Started>();
        return started?.Session != null ? started : throw reply.Failure();
    }

    public async Task<Tokens> WaitForTokens(Started started, CancellationToken cancelled)
    {
        // Not by the clock, which may not be set yet. After a sleep the relay says whether the link has expired.
        var age = Stopwatch.StartNew();
        while (age.Elapsed.TotalSeconds < started.ExpiresIn)
        {
            var reply = await Ask($"/auth/result?session={started.Session}&wait={WaitSeconds}", null, RequestTimeout, cancelled);
            var tokens = reply.As<Tokens>();
            if (tokens?.AccessToken != null) return tokens;
            if (reply.Status == 410) break;
            if (reply.Status == 400 || reply.Error != null) throw reply.Failure();
            await Task.Delay(reply.Pause, cancelled); // Not yet; or 429, 5xx, a page of a proxy, no network.
        }
        throw new SignInException("expired");
    }

    /// <summary>Once they are saved, and never before. If it fails, the relay forgets them after 60 s.</summary>
    public Task Acknowledge(Started started) =>
        Retry($"/auth/result?session={started.Session}&ack=1", null, CancellationToken.None);

    /// <summary>The link then says that the device cancelled.</summary>
    public Task Cancel(Started started) =>
        Retry($"/auth/result?session={started.Session}&cancel=1", null, CancellationToken.None);

    /// <summary>unreachable: keep the old tokens and try later. invalid_grant: sign in again.</summary>
    public async Task<Tokens> Refresh(string refreshToken)
    {
        var reply = await Retry("/refresh", new { service, refreshToken }, CancellationToken.None);
        var tokens = reply.As<Tokens>();
        return tokens?.AccessToken != null ? tokens : throw reply.Failure();
    }

    /// <summary>Repeats a request that failed for a while. One without a body acknowledges or cancels.</summary>
    async Task<Reply> Retry(string path, object body, CancellationToken cancelled)
    {
        var timeout = body == null ? ShortTimeout : RequestTimeout;
        var reply = await Ask(path, body, timeout, cancelled);
        for (var tried = 1; tried < Tries && reply.IsTransient; tried++)
        {
            await Task.Delay(reply.Pause, cancelled);
            reply = await Ask(path, body, timeout, cancelled);
        }
        return reply;
    }

    async Task<Reply> Ask(string path, object body, TimeSpan timeout, CancellationToken cancelled)
    {
        using (var ended = CancellationTokenSource.CreateLinkedTokenSource(cancelled))
        using (var request = new HttpRequestMessage(body == null ? HttpMethod.Get : HttpMethod.Post, relay + path))
        {
            ended.CancelAfter(timeout);
            if (body != null) request.Content = new StringContent(JsonSerializer.Serialize(body, Json), Encoding.UTF8, "application/json");
            try
            {
                using (var response = await Http.SendAsync(request, ended.Token))
                {
                    var text = (await response.Content.ReadAsStringAsync()).Trim();
                    return new Reply((int)response.StatusCode, text, response.Headers.RetryAfter?.Delta);
                }
            }
            // A timeout is an OperationCanceledException here, as is a cancellation by the user.
            catch (Exception lost) when (!cancelled.IsCancellationRequested && (lost is HttpRequestException || lost is OperationCanceledException))
            {
                return new Reply(0, "", null);
            }
        }
    }
}

/// <summary>Status 0: no complete response.</summary>
sealed class Reply
{
    static readonly Random Random = new Random();
    static readonly TimeSpan LongestPause = TimeSpan.FromMinutes(1);

    sealed class Problem
    {
        public string Error { get; set; }
    }

    public readonly int Status;
    public readonly TimeSpan Pause;
    readonly string text;

    public Reply(int status, string text, TimeSpan? retryAfter)
    {
        Status = status;
        this.text = text;
        var wait = retryAfter ?? TimeSpan.Zero;
        // At random, so that a thousand devices do not return at the same moment.
        Pause = TimeSpan.FromMilliseconds(status == 204 ? 1000 : Random.Next(1000, 3000)) + (wait < LongestPause ? wait : LongestPause);
    }

    /// <summary>Null for what is no JSON object, such as a page of a proxy.</summary>
    public T As<T>() where T : class
    {
        try
        {
            return JsonSerializer.Deserialize<T>(text, SignIn.Json);
        }
        catch (JsonException)
        {
            return null;
        }
    }

    public string Error => As<Problem>()?.Error;

    public bool IsTransient => Status == 0 || Status == 200 && As<Problem>() == null || Status == 429 || Status >= 500;

    public SignInException Failure() =>
        Error != null ? new SignInException(Error) : new SignInException(IsTransient ? "unreachable" : "refused", text);
}

/// <summary>Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, refused, unreachable, invalid_grant (refresh only: sign in again).</summary>
public sealed class SignInException : Exception
{
    public readonly string Code;

    public SignInException(string code, string detail = "") : base(detail == "" ? code : code + ": " + detail)
    {
        Code = code;
    }
}
