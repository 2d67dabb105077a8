// Signs a user in through a Sign-in Relay. .NET 5 or newer, .NET Framework 4.6.1 or newer, Mono, Unity. No package.
//
//   dotnet run -- https://relay.example mal        (or: mcs -r:System.Net.Http,System.Runtime.Serialization SignIn.cs)
//
// The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again).</summary>
public sealed class SignInException : Exception
{
    public readonly string Code;

    public SignInException(string code, string detail = "") : base(detail == "" ? code : code + ": " + detail)
    {
        Code = code;
    }
}

/// <summary>Every member that the relay's answers have, and those of a request.</summary>
[DataContract]
public sealed class Message
{
    [DataMember(EmitDefaultValue = false)] public string service, device, session, link, userCode, qr;
    [DataMember(EmitDefaultValue = false)] public bool code, ack;
    [DataMember(EmitDefaultValue = false)] public string error, accessToken, refreshToken;
    [DataMember(EmitDefaultValue = false)] public int expiresIn;

    static readonly DataContractJsonSerializer Serializer = new DataContractJsonSerializer(typeof(Message));

    public string ToJson()
    {
        using (var stream = new MemoryStream())
        {
            Serializer.WriteObject(stream, this);
            return Encoding.UTF8.GetString(stream.ToArray());
        }
    }

    /// <summary>An empty message for what is no JSON object, such as a page of a proxy.</summary>
    public static Message Parse(string json)
    {
        try
        {
            using (var stream = new MemoryStream(Encoding.UTF8.GetBytes(json)))
                return json.StartsWith("{") ? (Message)Serializer.ReadObject(stream) : new Message();
        }
        catch (Exception)
        {
            return new Message();
        }
    }
}

public sealed class Reply
{
    static readonly Random Random = new Random();

    public int Status; // 0: no complete response.
    public string Text = "";
    public Message Message = new Message();
    // At random, so that a thousand devices do not return at the same moment.
    public TimeSpan Pause = TimeSpan.FromMilliseconds(Random.Next(1000, 3000));

    public bool IsRefusal { get { return Status >= 400 && Status < 500 && Status != 429; } }
}

public sealed class SignIn
{
    const int WaitSeconds = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
    const int Tries = 6; // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
    const int Links = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
    const string Saved = "tokens.json";

    // One for the whole program. Without a timeout a socket that died while the device slept would hang.
    static readonly HttpClient Http = new HttpClient { Timeout = TimeSpan.FromSeconds(WaitSeconds + 15) };

    readonly string relay, service;
    // Only for this device: never show it, log it or put it into a link.
    string session = "";
    System.Diagnostics.Stopwatch age = new System.Diagnostics.Stopwatch();
    TimeSpan lifetime;

    public SignIn(string relay, string service)
    {
        this.relay = relay;
        this.service = service;
    }

    async Task<Reply> Ask(string path, Message body, CancellationToken cancelled)
    {
        var reply = new Reply();
        var request = new HttpRequestMessage(body == null ? HttpMethod.Get : HttpMethod.Post, relay + path);
        if (body != null) request.Content = new StringContent(body.ToJson(), Encoding.UTF8, "application/json");
        try
        {
            using (var response = await Http.SendAsync(request, cancelled))
            {
                var text = await response.Content.ReadAsStringAsync();
                reply.Status = (int)response.StatusCode;
                reply.Text = text.Trim();
                reply.Message = Message.Parse(reply.Text);
                IEnumerable<string> values;
                int seconds;
                if (response.Headers.TryGetValues("Retry-After", out values) && int.TryParse(values.First(), out seconds))
                    reply.Pause += TimeSpan.FromSeconds(Math.Max(0, Math.Min(seconds, 60)));
            }
        }
        catch (Exception lost) when (lost is HttpRequestException || lost is OperationCanceledException || lost is IOException)
        {
            // A timeout is a TaskCanceledException here: it must not be taken for a cancellation by the user.
            if (cancelled.IsCancellationRequested) throw new SignInException("cancelled");
        }
        return reply;
    }

    Task<Reply> AskSession(string query, CancellationToken cancelled)
    {
        return Ask("/auth/result?session=" + Uri.EscapeDataString(session) + "&" + query, null, cancelled);
    }

    static async Task Sleep(TimeSpan pause, CancellationToken cancelled)
    {
        try
        {
            await Task.Delay(pause > TimeSpan.Zero ? pause : TimeSpan.Zero, cancelled);
        }
        catch (TaskCanceledException)
        {
            throw new SignInException("cancelled");
        }
    }

    public TimeSpan Left
    {
        get { return lifetime > age.Elapsed ? lifetime - age.Elapsed : TimeSpan.Zero; }
    }

    async Task<Message> Start(string device, CancellationToken cancelled)
    {
        var body = new Message { service = service, code = true, ack = true, device = device };
        var reply = new Reply();
        for (var tried = 0; tried < Tries; tried++)
        {
            reply = await Ask("/auth/start", body, cancelled);
            if (reply.Status == 200 && !string.IsNullOrEmpty(reply.Message.session))
            {
                session = reply.Message.session;
                lifetime = TimeSpan.FromSeconds(reply.Message.expiresIn);
                age = System.Diagnostics.Stopwatch.StartNew(); // The clock may not be set yet.
                return reply.Message;
            }
            if (reply.IsRefusal) throw new SignInException("refused", reply.Text);
            await Sleep(reply.Pause, cancelled);
        }
        throw new SignInException("unreachable", reply.Text);
    }

    async Task<Message> WaitForTokens(CancellationToken cancelled)
    {
        // After a sleep the next poll says whether the link is still valid: 410 if not.
        while (Left > TimeSpan.Zero)
        {
            var asked = System.Diagnostics.Stopwatch.StartNew();
            var reply = await AskSession("wait=" + WaitSeconds, cancelled);
            if (reply.Status == 200 && reply.Message.error != null) throw new SignInException(reply.Message.error);
            if (reply.Status == 200 && !string.IsNullOrEmpty(reply.Message.accessToken)) return reply.Message;
            if (reply.Status == 410) break;
            if (reply.Status == 400) throw new SignInException("refused", reply.Text);
            // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            var pause = reply.Status == 204 ? TimeSpan.FromSeconds(1) - asked.Elapsed : reply.Pause;
            await Sleep(pause < Left ? pause : Left, cancelled);
        }
        throw new SignInException("expired");
    }

    async Task Tell(string query)
    {
        for (var tried = 0; tried < Tries; tried++)
        {
            var reply = await AskSession(query, CancellationToken.None);
            if (reply.Status == 204 || reply.Status == 400 || reply.Status == 410) return;
            await Sleep(reply.Pause, CancellationToken.None);
        }
    }

    /// <summary>Shows a link, and another one when it has expired. Cancel the token when the user presses Back.</summary>
    public async Task Run(Action<Message> show, Action<Message> save, CancellationToken cancelled)
    {
        for (var link = 0; link < Links; link++)
        {
            string ended;
            try
            {
                show(await Start("Living room", cancelled));
                var tokens = await WaitForTokens(cancelled);
                save(tokens);
                await Tell("ack=1"); // If it fails, the relay forgets them after 60 s.
                return;
            }
            catch (SignInException failure) when (failure.Code == "expired" || failure.Code == "cancelled")
            {
                ended = failure.Code;
            }
            if (ended == "cancelled")
            {
                // The link then says that the device cancelled.
                if (session != "") await Tell("cancel=1");
                throw new SignInException("cancelled");
            }
        }
        throw new SignInException("expired");
    }

    /// <summary>unreachable: keep the old tokens and try later. invalid_grant: sign in again.</summary>
    public async Task<Message> Refresh(string refreshToken)
    {
        var body = new Message { service = service, refreshToken = refreshToken };
        var reply = new Reply();
        for (var tried = 0; tried < Tries; tried++)
        {
            reply = await Ask("/refresh", body, CancellationToken.None);
            if (reply.Status == 200 && !string.IsNullOrEmpty(reply.Message.accessToken))
            {
                if (reply.Message.refreshToken == null) reply.Message.refreshToken = refreshToken; // The old one stays.
                return reply.Message;
            }
            if (reply.Status == 400 && reply.Message.error != null) throw new SignInException(reply.Message.error);
            if (reply.IsRefusal) throw new SignInException("refused", reply.Text);
            await Sleep(reply.Pause, CancellationToken.None);
        }
        throw new SignInException("unreachable", reply.Text);
    }

    /// <summary>Never half written. Let the file's folder be readable by this user only.</summary>
    static void Save(Message tokens)
    {
        File.WriteAllText(Saved + ".new", tokens.ToJson());
        if (File.Exists(Saved)) File.Replace(Saved + ".new", Saved, null);
        else File.Move(Saved + ".new", Saved);
    }

    void Show(Message started)
    {
        Console.WriteLine("Open " + started.link);
        Console.WriteLine("or type " + started.userCode + " at " + relay + "/link");
        Console.WriteLine("QR code: " + started.qr);
    }

    async Task SignInOrRefresh(CancellationToken cancelled)
    {
        var saved = File.Exists(Saved) ? Message.Parse(File.ReadAllText(Saved)) : new Message();
        if (!string.IsNullOrEmpty(saved.refreshToken))
        {
            try
            {
                Save(await Refresh(saved.refreshToken));
                return;
            }
            catch (SignInException failure) when (failure.Code == "invalid_grant")
            {
                // Sign in again.
            }
        }
        await Run(Show, Save, cancelled);
    }

    public static int Main(string[] args)
    {
        var signIn = new SignIn(args[0].TrimEnd('/'), args[1]);
        var cancel = new CancellationTokenSource();
        // Enter cancels; on a television, the Back key. At the end of the input nobody can press it.
        var keys = new Thread(() => { if (Console.ReadLine() != null) cancel.Cancel(); }) { IsBackground = true };
        keys.Start();
        var isOver = false;
        TimerCallback tick = ignored =>
        {
            lock (signIn)
            {
                if (!isOver) Console.Error.Write("\r{0}:{1:00} ", (int)signIn.Left.TotalMinutes, signIn.Left.Seconds);
            }
        };
        using (new Timer(tick, null, 0, 1000))
        {
            try
            {
                signIn.SignInOrRefresh(cancel.Token).GetAwaiter().GetResult();
                lock (signIn) isOver = true;
                Console.WriteLine("Signed in.");
                return 0;
            }
            catch (SignInException failure)
            {
                lock (signIn) isOver = true;
                Console.Error.WriteLine("\n" + failure.Message);
                return failure.Code == "cancelled" ? 130 : 1;
            }
        }
    }
}
