/**
 * The bounds that an operator meets, or that several modules share, each with its
 * reason. Those an operator may change are the defaults of a setting. A bound with
 * one reader stands beside that reader.
 */

const SECOND_MS = 1_000;

/* Sessions. */

/** Life of a session, and the `expiresIn` told to the device. */
export const DEFAULT_SESSION_SECONDS = 600;

/** Live sessions at once: what bounds memory. */
export const DEFAULT_MAX_SESSIONS = 5_000;

/** Starts an address may make at once, then one per second. */
export const DEFAULT_START_BURST = 3;
export const DEFAULT_START_RATE_PER_SECOND = 1;

/** Tries to draw secrets that no live session has. One is enough in this universe's lifetime. */
export const MAX_REGISTER_TRIES = 5;

/** What a user types: no vowel, so no word; nothing that reads as another letter. RFC 8628 §6.1. */
export const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
/** 20^8 codes, 34.5 bits: docs/person.md says what that withstands. */
export const USER_CODE_LENGTH = 8;

/** Characters of a name that a user sees, of a device, the app or a provider: a line of a phone holds no more. */
export const SHOWN_NAME_CHARACTERS = 40;

/** How often what has expired is removed. Lookups are exact without it. */
export const SWEEP_INTERVAL_MS = 30 * SECOND_MS;

/* Polls and delivery. */

/** How long one poll is held. */
export const DEFAULT_POLL_SECONDS = 50;

/**
 * Polls of one session parked at once. Enough for a device that retries before its
 * old connections are known to be dead. One more, and the oldest is answered 204, so
 * that one session cannot hold every connection of the process.
 */
export const MAX_POLLS_PER_SESSION = 32;

/** A device that acknowledges (`ack`) may claim its result again for so long after the first delivery. */
export const ACK_MS = 60 * SECOND_MS;

/** The same for a device code (RFC 8628), with which no standard client can acknowledge. */
export const DEFAULT_DEVICE_GRANT_REPEAT_SECONDS = 60;

/* Requests. */

/** A request body that the runtime takes. Above it the runtime answers 413 by itself, before any handler. */
export const REQUEST_BODY_BYTES = 1_048_576;

/** A body that has not arrived by then is not coming: a device sends 30 bytes. */
export const REQUEST_BODY_DEADLINE_MS = 10 * SECOND_MS;

/** Idle connections are closed so much later than a poll's longest hold. */
export const IDLE_MARGIN_SECONDS = 25;

/** The longest idle time that Bun can be given. */
export const MAX_IDLE_SECONDS = 255;

/**
 * A timer that is this late was held up: the process was stopped, its machine paused
 * or moved. A busy process is late by a few milliseconds.
 */
export const STALL_MS = 100;

/** After it, time to read what has arrived meanwhile: one turn of the event loop, on a loaded machine. */
export const STALL_GRACE_MS = 250;

/* Rate limits. */

/** Addresses a rate limit remembers: about 10 MB. Past it the one unseen longest is forgotten, and so gets its burst back early. */
export const MAX_RATE_LIMIT_ADDRESSES = 100_000;

/**
 * Polls of one device code: two for each interval, because some clients ask twice to
 * find out how to authenticate, and clocks that run a third early.
 */
export const DEVICE_POLL_LIMIT = { burst: 4, ratePerSecond: 0.6 };

/** Refreshes of one address: a household's devices at once, then one in two seconds. */
export const REFRESH_LIMIT = { burst: 10, ratePerSecond: 0.5 };

/** User codes an address may try: a user who mistypes, not a program that guesses. RFC 8628 §5.1. */
export const CODE_LIMIT_PER_ADDRESS = { burst: 10, ratePerSecond: 0.1 };

/** Wrong user codes of all addresses together. */
export const CODE_LIMIT_OVERALL = { burst: 50, ratePerSecond: 5 };

/** Pictures one address may have: a household's devices at once, then two a second. One takes 1 to 7 ms. */
export const QR_LIMIT_PER_ADDRESS = { burst: 20, ratePerSecond: 2 };

/**
 * Pictures of all addresses together, drawn by this process: three times what
 * DEFAULT_MAX_SESSIONS sign-ins need, and at 7 ms each a sixth of its time.
 */
export const QR_LIMIT_OVERALL = { burst: 50, ratePerSecond: 25 };

/* Providers. */

/** The whole exchange with the provider, from connecting to the last byte. */
export const EXCHANGE_TIMEOUT_MS = 15 * SECOND_MS;

/** Bytes of the provider's token response that are read. More is a failed exchange. */
export const TOKEN_RESPONSE_BYTES = 65_536;

/**
 * How long an exchange may hold its session. Past it the holder has died and the
 * device gets `exchange_failed`, so it exceeds the exchange's own timeout.
 */
export const EXCHANGE_LEASE_MS = EXCHANGE_TIMEOUT_MS + 5 * SECOND_MS;

/** How long a handler may take beyond what it waits for on purpose. Only a store that does not answer gets there. */
export const HANDLER_DEADLINE_MS = EXCHANGE_TIMEOUT_MS + 5 * SECOND_MS;

/**
 * Requests in progress at all providers together: below what `npm start` has the
 * runtime make at once, 5000. Each takes a socket and some 10 KB.
 */
export const UPSTREAM_REQUESTS = 4_000;

/** A refresh that is repeated within this time of its result gets the same one. */
export const REFRESH_RESULT_MS = 30 * SECOND_MS;

/** A provider's discovery document: how long it may take, how big it may be, when to ask again. */
export const DISCOVERY_TIMEOUT_MS = 5 * SECOND_MS;
export const DISCOVERY_BYTES = 262_144;
export const DISCOVERY_RETRY_MS = 30 * SECOND_MS;

/* Stopping. */

/**
 * After SIGTERM: how long devices may take to claim tokens that would be lost with
 * the process. Longer than the interval of RFC 8628 clients, which poll every 5 s.
 */
export const DRAIN_DELIVERY_MS = 7 * SECOND_MS;

/** How often a drain checks whether they have. */
export const DRAIN_CHECK_MS = 100;

/** After SIGTERM, once nothing is in progress: how long responses may take to be sent. */
export const DRAIN_FLUSH_MS = 2 * SECOND_MS;

/** A second signal within this time of the first is its echo. No human is as quick. */
export const SIGNAL_ECHO_MS = 300;

/* A shared store. */

/** To be connected to it at the start. A supervisor then tries again. */
export const STORE_CONNECT_MS = 5 * SECOND_MS;

/** So long without an answer at the start, and the log says what the relay waits for. */
export const STORE_SILENCE_MS = SECOND_MS;

/** One command. A start may take several, and devices wait ten seconds for theirs. */
export const STORE_DEADLINE_MS = 2 * SECOND_MS;

/** A command that reaches the store later than this is not carried out: there must be time for its answer. */
export const STORE_LATEST_MS = 1_500;

/** Between two tries of what the store did not answer. Longer than it takes to connect again. */
export const STORE_RETRY_MS = 250;

/** Where thousands may try at once, for as long as the store is away, that pause doubles up to this. */
export const STORE_RETRY_MAX_MS = 2 * SECOND_MS;

/** For how long such tries go on while a user or a device waits. */
export const STORE_PATIENCE_MS = 4 * SECOND_MS;

/**
 * So long after a command was refused, one of its kind that is accepted means that
 * the store accepts them again: in a Cluster one node may refuse what others accept.
 */
export const STORE_REFUSAL_QUIET_MS = 5 * SECOND_MS;

/**
 * How long the store remembers who made a claim or used a code, and how long the
 * relay goes on undoing one whose outcome it does not know. A relay that stands still
 * for less, or a store that is away for less, loses nothing. The memory that it costs
 * is in docs/scaling.md.
 */
export const STORE_UNDO_MS = 20 * SECOND_MS;

/** A poll waits this long to hear what became of another poll's claim, then claims again. */
export const CLAIM_DECISION_MS = SECOND_MS;

/** How often an instance sends a message to itself, to know that it receives messages. */
export const HEARTBEAT_MS = 300;

/** After so many heartbeats that were sent and not received, the subscribing connection is replaced. */
export const HEARTBEATS_TO_REBUILD = 7;
