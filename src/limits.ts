/**
 * Every bound of the relay, with its reason. Those an operator may change are
 * the defaults of a setting (settings.ts); the rest are fixed.
 */

const SECOND_MS = 1_000;

/** Life of a session, and the `expiresIn` told to the device. `protocol.md` §8. */
export const DEFAULT_SESSION_SECONDS = 600;

/** How long one poll is held. `protocol.md` §8. */
export const DEFAULT_POLL_SECONDS = 50;

/** Live sessions at once: what bounds memory. `protocol.md` §8. */
export const DEFAULT_MAX_SESSIONS = 5_000;

/** Starts an address may make at once, then one per second. `protocol.md` §8. */
export const DEFAULT_START_BURST = 3;
export const DEFAULT_START_RATE_PER_SECOND = 1;

/** Bytes of a person's form that are read: a code with room for blanks, or a choice. */
export const CODE_FORM_BYTES = 512;

/** Bytes of a start request that are read; a longer body is cut there. `protocol.md` §8. */
export const START_BODY_BYTES = 512;

/** A start body that has not arrived by then is not coming: a device sends 30 bytes. */
export const START_BODY_DEADLINE_MS = 10 * SECOND_MS;

/**
 * A request body the runtime takes in at all. Above it the runtime answers 413
 * by itself, before any handler; unread bodies below it are thrown away.
 */
export const REQUEST_BODY_BYTES = 1_048_576;

/** The whole exchange with the provider, from connecting to the last byte. `protocol.md` §8. */
export const EXCHANGE_TIMEOUT_MS = 15 * SECOND_MS;

/** Bytes of the provider's token response that are read; more is a failed exchange. `protocol.md` §8. */
export const TOKEN_RESPONSE_BYTES = 65_536;

/**
 * Requests under way at all providers together: below what `npm start` has the
 * runtime make at once, 5000. Each takes a socket and some 10 KB.
 */
export const UPSTREAM_REQUESTS = 4_000;

/** One provider has this part of them, so that three that hang leave room for the others. */
export const UPSTREAM_SHARES = 4;

/** Of what the runtime makes at once, so many are left for asking issuers. */
export const UPSTREAM_RESERVE = 16;

/**
 * How long an exchange may hold its session. Past it the holder is dead and the
 * device is told `exchange_failed`, so it exceeds the exchange's own timeout.
 */
export const EXCHANGE_LEASE_MS = EXCHANGE_TIMEOUT_MS + 5 * SECOND_MS;

/**
 * How long any handler may take beyond what it waits for on purpose. Only a
 * store that does not answer gets there.
 */
export const HANDLER_DEADLINE_MS = EXCHANGE_TIMEOUT_MS + 5 * SECOND_MS;

/**
 * Polls of one session parked at once. Enough for a device that retries before
 * its old connections are seen dead; the oldest is answered 204 to make room,
 * so that one session cannot hold every connection of the process.
 */
export const MAX_POLLS_PER_SESSION = 32;

/** Sign-in secrets: 144 bits, 24 characters of base64url. `protocol.md` §8, RFC 6819 §5.1.4.2.2. */
export const CAPABILITY_BYTES = 18;

/** What such a secret looks like; nothing else is looked up. */
export const CAPABILITY_SHAPE = /^[\w-]{24}$/;

/** 48 random bytes are 64 characters of base64url, all legal in a verifier. `protocol.md` §8, RFC 7636 §4.1. */
export const VERIFIER_BYTES = 48;

/** The longest a device may ask to be held; its default is POLL_SECONDS. `protocol.md` §8. */
export const MAX_WAIT_SECONDS = 50;

/** What a person types: no vowel, so no word; nothing that reads as another. RFC 8628 §6.1. */
export const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
/** 20^8: 34.5 bits. What that bears is in docs/person.md. */
export const USER_CODE_LENGTH = 8;

/** Characters of a name that a user is shown, of a device, the app or a provider: a line of a phone holds no more. */
export const SHOWN_NAME_CHARACTERS = 40;

/** A device that confirms (`ack`) may ask for its result again for so long after it was first handed out. */
export const ACK_MS = 60 * SECOND_MS;

/** The same for a device code (RFC 8628), with which no standard client can confirm. */
export const DEFAULT_DEVICE_GRANT_REPEAT_SECONDS = 60;

/** How long a browser may remember a preflight: the most that Chromium does. */
export const CORS_MAX_AGE_SECONDS = 7_200;

/**
 * Parameters of a query or a form that are read: some providers send a dozen.
 * 16 KiB hold 8,000, which would take a millisecond to tell apart.
 */
export const MAX_PARAMETERS = 64;

/** A body at the door of RFC 8628; refresh tokens of 4 KB have been seen. */
export const OAUTH_BODY_BYTES = 16_384;

/** RFC 8628 §3.2, and its default. */
export const DEVICE_POLL_INTERVAL_SECONDS = 5;

/**
 * Polls of one device code: two for each interval, because some clients ask
 * twice to find out how to authenticate, and clocks that run a third early.
 */
export const DEVICE_POLL_PACE = { burst: 4, ratePerSecond: 0.6 };

/** A refresh that is repeated within this time of its answer gets the same one. */
export const REFRESH_ANSWER_MS = 30 * SECOND_MS;

/**
 * Answers one relay keeps for that at a time, by number and by size: 330
 * refreshes a second with tokens of 3 KB. More are not kept: whoever repeats one
 * of those asks the provider again.
 */
export const REFRESH_ANSWERS = 10_000;
export const REFRESH_ANSWERS_BYTES = 32 * 1_048_576;

/** How often an instance looks whether another one's refresh is answered. */
export const REFRESH_LOOK_MS = 100;

/** Refreshes of one address: a household's devices at once, then one in two seconds. */
export const REFRESH_LIMIT = { burst: 10, ratePerSecond: 0.5 };

/**
 * User codes an address may try: a person who mistypes, not a program that
 * guesses. The odds are in docs/person.md. RFC 8628 §5.1.
 */
export const CODE_LIMIT_PER_ADDRESS = { burst: 10, ratePerSecond: 0.1 };

/** Wrong user codes of all addresses together. */
export const CODE_LIMIT_OVERALL = { burst: 50, ratePerSecond: 5 };

/** Tries to find capabilities that no live session has. One is enough in this universe's lifetime. */
export const MAX_REGISTER_TRIES = 5;

/** `X-Forwarded-For` beyond this is no proxy's doing. `design.md`, client address. */
export const FORWARDED_FOR_BYTES = 4_096;
export const FORWARDED_FOR_HOPS = 32;

/**
 * `Accept-Language` beyond this says nothing more; browsers send some 30
 * characters. It holds 128 tags at most, which take about 15 µs to look up.
 */
export const ACCEPT_LANGUAGE_BYTES = 256;

/** IPv6 clients own a /64, so that is what one rate-limit bucket covers. */
export const IPV6_BUCKET_PREFIX_BITS = 64;

/**
 * Addresses remembered by the rate limit: about 10 MB. Past it the one seen
 * longest ago is forgotten, and so gets its burst back early.
 */
export const MAX_RATE_LIMIT_ADDRESSES = 100_000;

/**
 * Width and height of a picture of a QR code: what a television of 720 lines
 * has room for, and beyond what one of 2160 needs. A picture twice as wide
 * costs four times the time.
 */
export const DEFAULT_QR_PX = 400;
export const MIN_QR_PX = 100;
export const MAX_QR_PX = 1_000;

/** Pictures one address may have: a household's devices at once, then two a second. One takes 1 to 7 ms. */
export const QR_LIMIT_PER_ADDRESS = { burst: 20, ratePerSecond: 2 };

/**
 * Pictures of all addresses together, drawn by this process: three times what
 * DEFAULT_MAX_SESSIONS sign-ins need, and at 7 ms each a sixth of its time.
 */
export const QR_LIMIT_OVERALL = { burst: 50, ratePerSecond: 25 };

/** How often what has expired is thrown away; lookups are exact without it. */
export const SWEEP_INTERVAL_MS = 30 * SECOND_MS;

/** After a poll's longest hold, this much longer until an idle connection is closed. */
export const IDLE_MARGIN_SECONDS = 25;

/** The longest idle time Bun can be told. */
export const MAX_IDLE_SECONDS = 255;

/** Characters of log lines that may wait to be written, some 5,000 lines. More are left out. */
export const LOG_BACKLOG_BYTES = 1_048_576;

/**
 * After SIGTERM: how long devices may take to fetch tokens that would be lost
 * with the process. Longer than the interval of RFC 8628 clients, which poll every 5 s.
 */
export const DRAIN_DELIVERY_MS = 7 * SECOND_MS;

/** How often a drain checks whether they have. */
export const DRAIN_LOOK_MS = 100;

/** After SIGTERM, once nothing is under way: how long answers may take to leave. */
export const DRAIN_FLUSH_MS = 2 * SECOND_MS;

/** A second signal within this time of the first is its echo; a person is not as quick. */
export const SIGNAL_ECHO_MS = 300;

/** A provider's discovery document: how long it may take, how big it may be, when to ask again. */
export const DISCOVERY_TIMEOUT_MS = 5 * SECOND_MS;
export const DISCOVERY_BYTES = 262_144;
export const DISCOVERY_RETRY_MS = 30 * SECOND_MS;

/** To be connected to a shared store at the start; a supervisor then tries again. */
export const STORE_CONNECT_MS = 5 * SECOND_MS;

/** So long without an answer at the start, and the operator is told what is waited for. */
export const STORE_SILENCE_MS = SECOND_MS;

/** One command of a shared store. A start may take several, and devices wait ten seconds for theirs. */
export const STORE_DEADLINE_MS = 2 * SECOND_MS;

/**
 * A command that reaches the shared store later than this is not carried out;
 * earlier than the deadline, so that there is time for its answer.
 */
export const STORE_LATEST_MS = 1_500;

/** Between two tries of what a shared store did not answer; longer than it takes to connect again. */
export const STORE_RETRY_MS = 250;

/** Where thousands may try at once, for as long as the store is away, that pause doubles up to this. */
export const STORE_RETRY_MAX_MS = 2 * SECOND_MS;

/** For how long such tries go on while a person or a device waits. */
export const STORE_PATIENCE_MS = 4 * SECOND_MS;

/**
 * After a command was refused, so long until one of its kind that is taken means
 * that the store takes them again: in a Cluster one node may refuse what others take.
 */
export const STORE_REFUSAL_QUIET_MS = 5 * SECOND_MS;

/**
 * How long the store remembers who made a claim or used a code, and how long the
 * relay goes on undoing one whose outcome it does not know. A relay that stands
 * still for less, or a store that is away for less, loses nothing. The memory that
 * it costs is in docs/scaling.md.
 */
export const STORE_UNDO_MS = 20 * SECOND_MS;

/** A poll waits this long to hear what became of another poll's claim, then looks again. */
export const CLAIM_DECISION_MS = SECOND_MS;

/**
 * A timer that is this late was held up: the process was stopped, its machine
 * paused or moved. A busy process is late by a few milliseconds.
 */
export const STALL_MS = 100;

/** After it, time to read what has arrived meanwhile: one turn of the event loop, on a loaded machine. */
export const STALL_GRACE_MS = 250;

/** How often an instance sends a message to itself, to know that it is not deaf. */
export const HEARTBEAT_MS = 300;

/** After so many heartbeats unheard, though sent, the connection that listens is made anew. */
export const HEARTBEATS_TO_REBUILD = 7;
