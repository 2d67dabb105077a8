/**
 * The bounds that operators notice, or that several modules share, each with its reason.
 * Defaults of settings are in settings/names.ts. A bound that one module uses is in that module.
 */

const SECOND_MS = 1_000;

/* Codes and names. */

/** No vowels, so that no code is a word. No two letters look alike. RFC 8628 §6.1. */
export const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ';
/** 20^8 codes, 34.5 bits. docs/user-pages.md "Guessing codes" has the arithmetic. */
export const USER_CODE_LENGTH = 8;

/** Characters of a name that a user sees (device, app, provider). A line on a phone has room for no more. */
export const SHOWN_NAME_CHARACTERS = 40;

/** The margin that a scanner needs around a QR code, in modules. ISO/IEC 18004 §9.1. */
export const QR_QUIET_ZONE = 4;

/* Polls and delivery. */

/**
 * Polls that are parked at once in a process: twice the number that docs/scaling.md plans for,
 * so that one relay can take over the devices of another. Each takes 4 to 7 KB on Bun and 10 KB
 * on Node, so they fit into 512 MiB.
 */
export const MAX_PARKED_POLLS = 40_000;

/** MAX_PARKED_POLLS of an object of Cloudflare Workers, which has 128 MB. There each poll takes up to 71 KB. */
export const MAX_PARKED_POLLS_OF_OBJECT = 1_000;

/** The longest `wait` of a device, and by default (POLL_SECONDS) how long a poll is held. */
export const MAX_WAIT_SECONDS = 50;

/**
 * How long after its first delivery a result is delivered again: to a device that acknowledges
 * (`ack`), and to a standard client of RFC 8628, which cannot.
 */
export const REDELIVERY_MS = 60 * SECOND_MS;

/* Requests. */

/**
 * The largest request body. Bun answers a larger one with a 413. On Node and Workers the relay does
 * so, but only if Content-Length says it: a body of unknown length is read as far as its handler
 * needs.
 */
export const REQUEST_BODY_BYTES = 1_048_576;

/** How long the headers of a request may take to arrive. Bun has the same limit built in. */
export const HEADERS_DEADLINE_MS = 10 * SECOND_MS;

/** How often Node checks HEADERS_DEADLINE_MS. Bun does so every 4 s. */
export const HEADERS_CHECK_MS = 4 * SECOND_MS;

/** An idle connection stays open this much longer than a poll is held. */
export const IDLE_MARGIN_SECONDS = 25;

/** The longest idle time that Bun accepts. */
export const MAX_IDLE_SECONDS = 255;

/**
 * A timer that is this late means that the process was stopped, or its machine paused
 * or moved. In a busy process timers are late by a few milliseconds.
 */
export const STALL_MS = 100;

/** Time to read what has arrived during a pause: one turn of the event loop on a loaded machine. */
export const STALL_GRACE_MS = 250;

/* Rate limits. */

/** Wrong user codes from one address: enough for a user who mistypes, too few for guessing. RFC 8628 §5.1. */
export const CODE_LIMIT_PER_ADDRESS = { burst: 10, ratePerSecond: 0.1 };

/* Providers. */

/** The whole exchange with the provider, from connecting to the last byte. */
export const EXCHANGE_TIMEOUT_MS = 15 * SECOND_MS;

/** Bytes of the provider's token response that are read. More is a failed exchange. */
export const TOKEN_RESPONSE_BYTES = 65_536;

/**
 * How long an exchange may hold its session. After that its process counts as failed, and the
 * device gets `exchange_failed`. So it exceeds the exchange's own timeout.
 */
export const EXCHANGE_LEASE_MS = EXCHANGE_TIMEOUT_MS + 5 * SECOND_MS;

/** How many outgoing requests Bun sends at once. bin/sign-in-relay.cjs and deploy/ set the same. */
export const FETCHES_AT_ONCE = 5_000;

/**
 * Requests in progress at all providers together: below FETCHES_AT_ONCE. Each takes a
 * socket and some 10 KB.
 */
export const UPSTREAM_REQUESTS = 4_000;

/**
 * Characters of a code, or of a whole callback of an open sign-in, that the relay keeps for a device. A
 * stranger writes them, so they are bounded like everything that a session keeps: docs/security.md
 * "What one session can hold".
 */
export const MAX_CALLBACK_CHARACTERS = 4_096;

/** A refresh that is repeated this soon after its result gets the same result. */
export const REFRESH_RESULT_MS = 30 * SECOND_MS;

/** A provider's discovery document: how long it may take, how large it may be, when to try again. */
export const DISCOVERY_TIMEOUT_MS = 5 * SECOND_MS;
export const DISCOVERY_BYTES = 262_144;
export const DISCOVERY_RETRY_MS = 30 * SECOND_MS;

/* Stopping. */

/** How long responses may take to be sent after SIGTERM, once nothing is in progress. */
export const DRAIN_FLUSH_MS = 2 * SECOND_MS;

/** A second signal within this time counts as the first: npm forwards a signal that its child also gets. No operator is that fast. */
export const SIGNAL_ECHO_MS = 500;

/** How long `sign-in-relay health` waits. By default Docker gives a health check 30 s, Kubernetes 1 s. */
export const HEALTH_TIMEOUT_MS = 3 * SECOND_MS;

/* A shared store. */

/** How long one command may take. A start may need several, and devices wait 10 s for it. */
export const STORE_DEADLINE_MS = 2 * SECOND_MS;

/** A command that reaches the store later than this is not executed, because its reply would be too late. */
export const STORE_LATEST_MS = 1_500;

/** The first backoff before a command without a reply is repeated: longer than a reconnect takes. */
export const STORE_RETRY_MS = 250;

/** How long a start waits for Redis: longer than a reboot, or a short outage of Redis, takes. */
export const REDIS_WAIT_MS = 60 * SECOND_MS;

/** The longest backoff. It doubles while the store is unreachable, because thousands of polls retry. */
export const STORE_RETRY_MAX_MS = 2 * SECOND_MS;
