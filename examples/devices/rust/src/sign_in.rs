//! Signs a user in through a Sign-in Relay: start, show it, wait_for_tokens, save them, acknowledge.
//! What a finished app adds is in main.rs.
use serde::{de::DeserializeOwned, Deserialize};
use serde_json::{json, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fmt, thread};

/// The relay holds a poll this long. Some proxies cut a request after 30 s.
const WAIT_SECONDS: u64 = 25;
/// For all but a poll, which is repeated until the link expires.
const TRIES: usize = 6;
/// Without a timeout a socket that died while the device slept would hang.
const TIMEOUT: Duration = Duration::from_secs(WAIT_SECONDS + 15);
/// To acknowledge and cancel: the user waits, and the relay forgets in 60 s.
const SHORT_TIMEOUT: Duration = Duration::from_secs(5);

pub struct SignIn {
    pub relay: String,
    pub service: String,
    agent: ureq::Agent,
}

/// Show link, user_code and qr. The session is for this device alone: never show it, log it or put it into a link.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    session: String,
    pub link: String,
    pub user_code: String,
    pub qr: String,
    pub expires_in: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub expires_in: Option<u64>,
}

impl SignIn {
    pub fn new(relay: &str, service: &str) -> Self {
        SignIn { relay: relay.trim_end_matches('/').into(), service: service.into(), agent: ureq::Agent::new() }
    }

    pub fn start(&self, device: &str) -> Result<Started, Failure> {
        let body = json!({ "service": self.service, "code": true, "ack": true, "device": device });
        let reply = self.retry("/auth/start", Some(&body));
        reply.read().ok_or_else(|| reply.failure())
    }

    /// Set `is_cancelled` before `cancel`, which ends the poll.
    pub fn wait_for_tokens(&self, started: &Started, is_cancelled: &AtomicBool) -> Result<Tokens, Failure> {
        // Not by the clock, which may not be set yet. After a sleep the relay says whether the link has expired.
        let expires_at = Instant::now() + Duration::from_secs(started.expires_in);
        while Instant::now() < expires_at && !is_cancelled.load(Ordering::SeqCst) {
            let path = format!("/auth/result?session={}&wait={WAIT_SECONDS}", started.session);
            let reply = self.ask(&path, None, TIMEOUT);
            match reply.read() {
                Some(tokens) => return Ok(tokens),
                None if reply.status == 410 => break,
                None if reply.status == 400 || reply.error().is_some() => return Err(reply.failure()),
                None => thread::sleep(reply.pause), // Not yet; or 429, 5xx, a page of a proxy, no network.
            }
        }
        Err(Failure::new(if is_cancelled.load(Ordering::SeqCst) { "cancelled" } else { "expired" }))
    }

    /// Once they are saved, and never before. If it fails, the relay forgets them after 60 s.
    pub fn acknowledge(&self, started: &Started) {
        self.retry(&format!("/auth/result?session={}&ack=1", started.session), None);
    }

    /// From another thread. The link then says that the device cancelled.
    pub fn cancel(&self, started: &Started) {
        self.retry(&format!("/auth/result?session={}&cancel=1", started.session), None);
    }

    /// `unreachable`: keep the old tokens and try later. `invalid_grant`: sign in again.
    pub fn refresh(&self, refresh_token: &str) -> Result<Tokens, Failure> {
        let body = json!({ "service": self.service, "refreshToken": refresh_token });
        let reply = self.retry("/refresh", Some(&body));
        reply.read().ok_or_else(|| reply.failure())
    }

    /// Repeats a request that failed for a while. One without a body acknowledges or cancels.
    fn retry(&self, path: &str, body: Option<&Value>) -> Reply {
        let timeout = if body.is_none() { SHORT_TIMEOUT } else { TIMEOUT };
        let mut reply = self.ask(path, body, timeout);
        for _ in 1..TRIES {
            if !reply.is_transient() {
                break;
            }
            thread::sleep(reply.pause);
            reply = self.ask(path, body, timeout);
        }
        reply
    }

    fn ask(&self, path: &str, body: Option<&Value>, timeout: Duration) -> Reply {
        let url = format!("{}{path}", self.relay);
        let response = match body {
            Some(body) => self.agent.post(&url).timeout(timeout).send_json(body),
            None => self.agent.get(&url).timeout(timeout).call(),
        };
        match response {
            Ok(response) | Err(ureq::Error::Status(_, response)) => {
                let status = response.status();
                let seconds = response.header("Retry-After").and_then(|value| value.parse().ok()).unwrap_or(0);
                match response.into_string() {
                    Ok(text) => Reply::new(status, text.trim(), seconds),
                    Err(_cut_off) => Reply::new(0, "", 0),
                }
            }
            Err(ureq::Error::Transport(_)) => Reply::new(0, "", 0),
        }
    }
}

struct Reply {
    /// 0: no complete response.
    status: u16,
    text: String,
    pause: Duration,
}

impl Reply {
    fn new(status: u16, text: &str, retry_after_seconds: u64) -> Self {
        // At random, so that a thousand devices do not return at the same moment.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let random_ms = if status == 204 { 1_000 } else { 1_000 + u64::from(now.subsec_micros()) % 2_000 };
        let pause = Duration::from_millis(random_ms) + Duration::from_secs(retry_after_seconds.min(60));
        Reply { status, text: text.to_owned(), pause }
    }

    /// None for another object, and for what is none, such as a page of a proxy.
    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.text).ok()
    }

    fn error(&self) -> Option<String> {
        Some(self.read::<Value>()?.get("error")?.as_str()?.to_owned())
    }

    fn is_transient(&self) -> bool {
        let is_page = self.status == 200 && self.read::<Value>().is_none();
        is_page || matches!(self.status, 0 | 429 | 500..)
    }

    fn failure(&self) -> Failure {
        match self.error() {
            Some(code) => Failure { code, detail: String::new() },
            None => {
                let code = if self.is_transient() { "unreachable" } else { "refused" };
                Failure { code: code.into(), detail: self.text.clone() }
            }
        }
    }
}

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again).
#[derive(Debug)]
pub struct Failure {
    pub code: String,
    detail: String,
}

impl Failure {
    pub fn new(code: &str) -> Self {
        Failure { code: code.into(), detail: String::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let separator = if self.detail.is_empty() { "" } else { ": " };
        write!(formatter, "{}{separator}{}", self.code, self.detail)
    }
}

impl std::error::Error for Failure {}
