//! Signs a user in through a Sign-in Relay. No crate: the program `curl` sends the requests.
//! In an app that has an HTTP client already, `ask` is the only function to replace.
//!
//!     rustc -O sign_in.rs && ./sign_in https://relay.example mal
//!
//! The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
//! Enter cancels; on a television, let the Back key call `Session::cancel`.
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The relay holds a poll this long. Some proxies cut a request after 30 s.
const WAIT_SECONDS: u64 = 25;
/// For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
const TRIES: usize = 6;
/// A link that has expired is replaced, but not for ever on a forgotten screen.
const LINKS: usize = 3;
const SAVED: &str = "tokens.json";

/// `access_denied`, `authorization_failed`, `missing_code`, `exchange_failed` (from the relay),
/// `expired`, `cancelled`, `refused: …`, `unreachable`, `invalid_grant` (refresh only: sign in again).
type Failure = String;

/// The members of the relay's answers, which are flat objects.
type Members = HashMap<String, String>;

struct Reply {
    /// 0: no complete response.
    status: u16,
    text: String,
    members: Members,
    pause: Duration,
}

impl Reply {
    fn get(&self, name: &str) -> &str {
        self.members.get(name).map_or("", String::as_str)
    }

    fn is_refusal(&self) -> bool {
        (400..500).contains(&self.status) && self.status != 429
    }

    fn refused(&self) -> Failure {
        format!("refused: {}", self.text.trim())
    }
}

fn ask(url: &str, body: Option<&str>) -> Reply {
    // At random, so that a thousand devices do not return at the same moment.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut reply = Reply {
        status: 0,
        text: String::new(),
        members: Members::new(),
        pause: Duration::from_millis(1_000 + u64::from(now.subsec_nanos() / 1_000) % 2_000),
    };
    let (status, headers, text) = match curl(url, body) {
        Ok(response) => response,
        Err(_) => return reply,
    };
    reply.status = status;
    reply.members = parse_object(&text).unwrap_or_default();
    reply.text = text;
    for line in headers.lines() {
        if let Some(("retry-after", value)) = line.to_ascii_lowercase().split_once(": ") {
            let seconds: u64 = value.trim().parse().unwrap_or(0);
            reply.pause += Duration::from_secs(seconds.min(60));
        }
    }
    reply
}

/// Returns status, headers and body. The address and the body go to curl by its standard input,
/// because other users of the machine can read its arguments.
fn curl(url: &str, body: Option<&str>) -> io::Result<(u16, String, String)> {
    let mut config = format!("url = \"{}\"\n", url);
    if let Some(body) = body {
        let escaped = body.replace('\\', "\\\\").replace('"', "\\\"");
        config += &format!("data-raw = \"{}\"\nheader = \"Content-Type: application/json\"\n", escaped);
    }
    let max_time = (WAIT_SECONDS + 15).to_string();
    let mut child = Command::new("curl")
        .args(["--silent", "--include", "--http1.1", "--max-time", &max_time, "--config", "-"])
        .args(["--write-out", "\n%{http_code}"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // The standard input is closed when it goes out of scope here.
    child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?.write_all(config.as_bytes())?;
    let output = child.wait_with_output()?;
    let lost = || io::Error::from(io::ErrorKind::ConnectionAborted);
    // A response that was cut off is none.
    if !output.status.success() {
        return Err(lost());
    }
    let all = String::from_utf8_lossy(&output.stdout);
    let (response, status) = all.rsplit_once('\n').ok_or_else(lost)?;
    let (headers, text) = response.split_once("\r\n\r\n").ok_or_else(lost)?;
    Ok((status.parse().map_err(|_| lost())?, headers.to_owned(), text.to_owned()))
}

/// Reads a JSON object of strings, numbers and booleans. None if the text is anything else.
fn parse_object(text: &str) -> Option<Members> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut members = Members::new();
    while !rest.is_empty() {
        let (name, after) = parse_string(rest)?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let (value, after) = match parse_string(value) {
            Some(found) => found,
            None => {
                let end = value.find(',').unwrap_or(value.len());
                (value[..end].trim().to_owned(), &value[end..])
            }
        };
        members.insert(name, value);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
    Some(members)
}

/// Returns the string and what follows it.
fn parse_string(text: &str) -> Option<(String, &str)> {
    let mut string = String::new();
    let inside = text.strip_prefix('"')?;
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((string, &inside[at + 1..])),
            '\\' => string.push(match characters.next()?.1 {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let hex: String = characters.by_ref().take(4).map(|(_, digit)| digit).collect();
                    char::from_u32(u32::from_str_radix(&hex, 16).ok()?).unwrap_or('\u{fffd}')
                }
                other => other,
            }),
            other => string.push(other),
        }
    }
    None
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted += &format!("\\u{:04x}", control as u32),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[derive(Clone)]
struct Session {
    relay: String,
    /// Only for this device: never show it, log it or put it into a link.
    secret: String,
    expires_at: Instant,
    is_cancelled: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
}

impl Session {
    fn start(relay: &str, service: &str, device: &str) -> Result<(Session, Members), Failure> {
        let body = format!(
            "{{\"service\":{},\"code\":true,\"ack\":true,\"device\":{}}}",
            quote(service),
            quote(device)
        );
        for _ in 0..TRIES {
            let reply = ask(&format!("{}/auth/start", relay), Some(&body));
            if reply.status == 200 && !reply.get("session").is_empty() {
                let seconds = reply.get("expiresIn").parse().unwrap_or(600);
                let session = Session {
                    relay: relay.to_owned(),
                    secret: reply.get("session").to_owned(),
                    // The clock may not be set yet; Instant does not need it.
                    expires_at: Instant::now() + Duration::from_secs(seconds),
                    is_cancelled: Arc::default(),
                    is_over: Arc::default(),
                };
                return Ok((session, reply.members));
            }
            if reply.is_refusal() {
                return Err(reply.refused());
            }
            thread::sleep(reply.pause);
        }
        Err("unreachable".to_owned())
    }

    fn ask(&self, query: &str) -> Reply {
        // The secret is base64url: nothing in it needs escaping.
        ask(&format!("{}/auth/result?session={}&{}", self.relay, self.secret, query), None)
    }

    fn left(&self) -> Duration {
        self.expires_at.saturating_duration_since(Instant::now())
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    fn wait_for_tokens(&self) -> Result<Members, Failure> {
        // After a sleep the next poll says whether the link is still valid: 410 if not.
        while !self.left().is_zero() && !self.is_cancelled() {
            let asked_at = Instant::now();
            let reply = self.ask(&format!("wait={}", WAIT_SECONDS));
            match reply.status {
                200 if !reply.get("error").is_empty() => return Err(reply.get("error").to_owned()),
                200 if !reply.get("accessToken").is_empty() => return Ok(reply.members),
                400 => return Err(reply.refused()),
                410 => break,
                // Not yet.
                204 => thread::sleep(Duration::from_secs(1).saturating_sub(asked_at.elapsed())),
                // Transient: 429, 5xx, a page of a proxy, no network.
                _ => thread::sleep(reply.pause.min(self.left())),
            }
        }
        Err(if self.is_cancelled() { "cancelled" } else { "expired" }.to_owned())
    }

    fn tell(&self, query: &str) {
        for _ in 0..TRIES {
            let reply = self.ask(query);
            if matches!(reply.status, 204 | 400 | 410) {
                return;
            }
            thread::sleep(reply.pause);
        }
    }

    /// Once the tokens are saved. If it fails, the relay forgets them after 60 s.
    fn acknowledge(&self) {
        self.tell("ack=1");
    }

    /// From another thread. The relay ends the poll, and the link says that the device cancelled.
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        self.tell("cancel=1");
    }
}

fn sign_in(
    relay: &str,
    service: &str,
    show: impl Fn(&Session, &Members) -> thread::JoinHandle<()>,
) -> Result<(), Failure> {
    for _ in 0..LINKS {
        let (session, started) = Session::start(relay, service, "Living room")?;
        let countdown = show(&session, &started);
        let outcome = session.wait_for_tokens();
        session.is_over.store(true, Ordering::SeqCst);
        countdown.thread().unpark();
        let _ = countdown.join();
        match outcome {
            Ok(tokens) => {
                save(&tokens).map_err(|error| error.to_string())?;
                session.acknowledge();
                return Ok(());
            }
            Err(failure) if failure == "expired" => continue,
            Err(failure) => return Err(failure),
        }
    }
    Err("expired".to_owned())
}

/// `unreachable`: keep the old tokens and try later. `invalid_grant`: sign in again.
fn refresh(relay: &str, service: &str, refresh_token: &str) -> Result<Members, Failure> {
    let body = format!("{{\"service\":{},\"refreshToken\":{}}}", quote(service), quote(refresh_token));
    for _ in 0..TRIES {
        let reply = ask(&format!("{}/refresh", relay), Some(&body));
        if reply.status == 200 && !reply.get("accessToken").is_empty() {
            let mut tokens = reply.members;
            // Without a new refresh token the old one stays.
            tokens.entry("refreshToken".to_owned()).or_insert_with(|| refresh_token.to_owned());
            return Ok(tokens);
        }
        if reply.status == 400 && !reply.get("error").is_empty() {
            return Err(reply.get("error").to_owned());
        }
        if reply.is_refusal() {
            return Err(reply.refused());
        }
        thread::sleep(reply.pause);
    }
    Err("unreachable".to_owned())
}

/// Readable by this user only, and never half written.
fn save(tokens: &Members) -> io::Result<()> {
    let members: Vec<String> = tokens
        .iter()
        .map(|(name, value)| match name.as_str() {
            "expiresIn" => format!("{}:{}", quote(name), value),
            _ => format!("{}:{}", quote(name), quote(value)),
        })
        .collect();
    let written = format!("{}.new", SAVED);
    let mut file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&written)?;
    file.write_all(format!("{{{}}}", members.join(",")).as_bytes())?;
    file.sync_all()?;
    fs::rename(written, SAVED)
}

/// Returns the countdown, which ends once it is unparked.
fn show(session: &Session, started: &Members) -> thread::JoinHandle<()> {
    println!("Open {}", started["link"]);
    println!("or type {} at {}/link", started["userCode"], session.relay);
    println!("QR code: {}", started["qr"]);
    let _ = io::stdout().flush();
    let shown = session.clone();
    let countdown = thread::spawn(move || {
        while !shown.is_over.load(Ordering::SeqCst) {
            let left = shown.left().as_secs();
            eprint!("\r{}:{:02} ", left / 60, left % 60);
            thread::park_timeout(Duration::from_secs(1));
        }
    });
    let shown = session.clone();
    thread::spawn(move || {
        // At the end of the input nobody can press Enter: that is no cancellation.
        if matches!(io::stdin().lock().read_line(&mut String::new()), Ok(bytes) if bytes > 0) {
            shown.cancel();
        }
    });
    countdown
}

fn run(relay: &str, service: &str) -> Result<(), Failure> {
    let saved = fs::read_to_string(SAVED).ok().and_then(|text| parse_object(&text));
    if let Some(refresh_token) = saved.as_ref().and_then(|tokens| tokens.get("refreshToken")) {
        match refresh(relay, service, refresh_token) {
            Ok(tokens) => return save(&tokens).map_err(|error| error.to_string()),
            Err(failure) if failure == "invalid_grant" => {}
            Err(failure) => return Err(failure),
        }
    }
    sign_in(relay, service, show)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match run(arguments[1].trim_end_matches('/'), &arguments[2]) {
        Ok(()) => println!("Signed in."),
        Err(failure) => {
            eprintln!("\n{}", failure);
            std::process::exit(if failure == "cancelled" { 130 } else { 1 });
        }
    }
}
