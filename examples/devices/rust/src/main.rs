//! What a finished app adds to sign_in.rs: tokens that are kept and refreshed when that is due, another link for
//! one that has expired, a countdown, and cancelling.
//!
//!     cargo run -- https://relay.example mal
mod sign_in;

use serde::{Deserialize, Serialize};
use sign_in::{Failure, SignIn, Started, Tokens};
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A link that has expired is replaced, but not for ever on a forgotten screen.
const LINKS: usize = 3;
/// Before it expires, so that no token expires on its way to the provider.
const EARLY_MS: i64 = 60_000;
const SAVED: &str = "tokens.json";

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Saved {
    access_token: String,
    refresh_token: Option<String>,
    expires_in: Option<u64>,
    /// Milliseconds since 1970; None if the provider gave no lifetime: then it is used until the API answers 401.
    expires_at: Option<i64>,
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}

impl Saved {
    fn from(tokens: Tokens, old_refresh_token: Option<String>) -> Self {
        Saved {
            access_token: tokens.access_token,
            refresh_token: tokens.refresh_token.or(old_refresh_token),
            expires_in: tokens.expires_in,
            expires_at: tokens.expires_in.map(|seconds| now_ms() + seconds as i64 * 1_000),
        }
    }

    fn is_due(&self) -> bool {
        self.expires_at.zip(self.expires_in).map_or(false, |(expires_at, expires_in)| {
            let left_ms = expires_at - now_ms();
            // More left than there ever was: the clock was set back since, and says nothing about the token.
            left_ms < EARLY_MS || left_ms > expires_in as i64 * 1_000
        })
    }

    fn load() -> Option<Saved> {
        serde_json::from_str(&fs::read_to_string(SAVED).ok()?).ok()
    }

    /// Readable by this user only, and never half written.
    fn save(self) -> io::Result<Saved> {
        // A name of this process, beside which another one may save.
        let written = format!("{SAVED}.{}", std::process::id());
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&written)?;
        file.write_all(&serde_json::to_vec(&self)?)?;
        file.sync_all()?;
        fs::rename(written, SAVED)?;
        Ok(self)
    }
}

struct App {
    sign_in: SignIn,
    shown: Mutex<Option<Started>>,
    is_cancelled: AtomicBool,
}

impl App {
    fn tokens(&self) -> Result<Saved, Box<dyn Error>> {
        let saved = match Saved::load() {
            Some(saved) if !saved.is_due() => return Ok(saved),
            saved => saved,
        };
        if let Some(refresh_token) = saved.and_then(|saved| saved.refresh_token) {
            match self.sign_in.refresh(&refresh_token) {
                Ok(tokens) => return Ok(Saved::from(tokens, Some(refresh_token)).save()?),
                Err(failure) if failure.code == "invalid_grant" => {} // Sign in again.
                Err(failure) => return Err(failure.into()),
            }
        }
        self.sign_in_anew()
    }

    fn sign_in_anew(&self) -> Result<Saved, Box<dyn Error>> {
        for _ in 0..LINKS {
            let started = self.sign_in.start("Living room")?;
            *self.shown.lock().unwrap() = Some(started.clone());
            let countdown = show(&self.sign_in.relay, &started);
            let outcome = self.sign_in.wait_for_tokens(&started, &self.is_cancelled);
            drop(countdown);
            match outcome {
                Ok(tokens) => {
                    let saved = Saved::from(tokens, None).save()?;
                    self.sign_in.acknowledge(&started);
                    return Ok(saved);
                }
                Err(failure) if failure.code == "expired" => continue,
                Err(failure) => {
                    // Here too, so that the program does not end before the relay knows.
                    if failure.code == "cancelled" {
                        self.sign_in.cancel(&started);
                    }
                    return Err(failure.into());
                }
            }
        }
        Err(Failure::new("expired").into())
    }

    /// From another thread: for the Back key.
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
        if let Some(started) = self.shown.lock().unwrap().as_ref() {
            self.sign_in.cancel(started);
        }
    }
}

/// The countdown ends when what it returns is dropped.
fn show(relay: &str, started: &Started) -> Sender<()> {
    println!("Open {}", started.link);
    println!("or type {} at {relay}/link", started.user_code);
    println!("QR code: {}", started.qr);
    let expires_at = Instant::now() + Duration::from_secs(started.expires_in);
    let (countdown, dropped) = channel();
    thread::spawn(move || {
        while dropped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            let left = expires_at.saturating_duration_since(Instant::now()).as_secs();
            eprint!("\r{}:{:02} ", left / 60, left % 60);
        }
    });
    countdown
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let app = Arc::new(App {
        sign_in: SignIn::new(&arguments[1], &arguments[2]),
        shown: Mutex::default(),
        is_cancelled: AtomicBool::default(),
    });
    let cancelling = Arc::clone(&app);
    thread::spawn(move || {
        // Enter; on a television, the Back key. At the end of the input nobody can press it.
        if matches!(io::stdin().lock().read_line(&mut String::new()), Ok(bytes) if bytes > 0) {
            cancelling.cancel();
        }
    });
    match app.tokens() {
        // Not println, which panics if nobody reads the output any more: the tokens are saved all the same.
        Ok(_) => drop(writeln!(io::stdout(), "Signed in.")),
        Err(error) => {
            eprintln!("\n{error}");
            std::process::exit(if app.is_cancelled.load(Ordering::SeqCst) { 130 } else { 1 });
        }
    }
}
