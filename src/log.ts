/**
 * The log: one line for each event. Fields are chosen one by one where the event happens.
 * Never a URL with its query, a token, a code, a state, a secret, a verifier, or the message
 * of an error that may contain one. docs/reference.md lists every event.
 */
import type { Writable } from 'node:stream';

/** Their severities in syslog: the more severe, the lower. RFC 5424 §6.2.1. */
const LEVELS = { debug: 7, info: 6, warning: 4, error: 3 } as const;
export type LogLevel = keyof typeof LEVELS;

export type LogFields = Readonly<Record<string, unknown>>;

export interface LogOptions {
  /** The lowest level that is logged. */
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  readonly write: (line: string) => void;
  /** True if each line begins with its priority, such as `<4>` for a warning. journald removes it. sd-daemon(3) */
  readonly hasPriorities?: boolean;
}

/** Undefined until `startLog`: a program that embeds the relay may leave the log off. */
let options: LogOptions | undefined;

export function startLog(started: LogOptions): void {
  options = started;
}

export const log = {
  debug: (event: string, fields?: LogFields) => writeLine('debug', event, fields),
  info: (event: string, fields?: LogFields) => writeLine('info', event, fields),
  warning: (event: string, fields?: LogFields) => writeLine('warning', event, fields),
  error: (event: string, fields?: LogFields) => writeLine('error', event, fields),
  /** Lets a caller skip fields that are expensive to compute. */
  isEnabledFor: (level: LogLevel) =>
    options !== undefined && LEVELS[level] <= LEVELS[options.level],
};

function writeLine(level: LogLevel, event: string, fields: LogFields | undefined): void {
  if (options === undefined || !log.isEnabledFor(level)) return;
  const time = new Date().toISOString();
  const toLine = options.format === 'json' ? jsonLine : textLine;
  const priority = options.hasPriorities ? `<${LEVELS[level]}>` : '';
  options.write(priority + toLine(time, level, event, fields));
}

function jsonLine(time: string, level: LogLevel, event: string, fields?: LogFields): string {
  return `${toJson({ time, level, event, ...fields })}\n`;
}

function textLine(time: string, level: LogLevel, event: string, fields: LogFields = {}): string {
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return `${[time, SHOWN_LEVELS[level], event, ...shown].join(' ')}\n`;
}

const SHOWN_LEVELS = { debug: 'DEBUG', info: 'INFO ', warning: 'WARN ', error: 'ERROR' } as const;

function textValue(value: unknown): string {
  return typeof value === 'string' && /^[\w:/.,-]+$/.test(value) ? value : toJson(value);
}

/** Characters that JSON does not escape but that affect a terminal: DEL, C1, invisible ones, and those that reorder text. */
const UNESCAPED =
  /[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** JSON with those characters escaped: some fields contain text from a provider. */
function toJson(value: unknown): string {
  const json: string | undefined = JSON.stringify(value);
  return `${json?.replace(UNESCAPED, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)}`;
}

/** Returns a function that logs a warning only once, because every request would repeat it. */
export function warnOnce(event: string, hint: string): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warning(event, { hint });
    warned = true;
  };
}

let requests = 0;
const processId = Math.random().toString(36).slice(2, 8);

/** Identifies the log lines of one request. It is not secret, and not derived from a secret. */
export function createRequestId(): string {
  requests += 1;
  return `${processId}-${requests.toString(36)}`;
}

/** The parts of an error that may be logged: its name and where it was thrown, not its message. */
export function describeError(error: unknown): { error: string; at?: string[] } {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const { message, stack = '' } = error;
  // Only what follows the message, which may itself have lines that look like frames.
  const messageAt = stack.indexOf(message);
  const trace = messageAt === -1 ? '' : stack.slice(messageAt + message.length);
  const frames = trace.split('\n').filter((line) => /^\s+at /.test(line));
  return { error: `${error.name}${code}`, at: frames.slice(0, 5).map((line) => line.trim()) };
}

/** Characters that may wait to be written: some 5,000 lines. Further lines are dropped. */
export const MAX_BACKLOG_CHARACTERS = 1_048_576;

/**
 * Returns a function that writes a line to `output`. If the log cannot be written,
 * because its reader has exited or the disk is full, sign-ins continue: the relay reports
 * it once on `errors` and drops lines. Once it can write again, it logs how many lines are
 * missing. Both streams need a listener for their errors.
 */
export function createLogOutput(output: Writable, errors: Writable): (line: string) => void {
  let waitingCharacters = 0;
  let lostLines = 0;
  let isFailing = false;

  function fail(reason: string): void {
    if (!isFailing)
      errors.write(`The log cannot be written (${reason}); the relay keeps running.\n`);
    isFailing = true;
  }

  function recover(): void {
    isFailing = false;
    if (lostLines === 0) return;
    const lines = lostLines;
    lostLines = 0;
    log.warning('log_incomplete', { lostLines: lines });
  }

  return (line) => {
    // The reader has stopped, or thousands of sign-ins expired at once. Further lines would fill the memory.
    if (waitingCharacters > MAX_BACKLOG_CHARACTERS) {
      lostLines += 1;
      return fail('a megabyte waits for its reader');
    }
    waitingCharacters += line.length;
    output.write(line, (error) => {
      waitingCharacters -= line.length;
      if (error) {
        lostLines += 1;
        fail('code' in error ? String(error.code) : error.name);
      } else if (isFailing && waitingCharacters === 0) {
        recover();
      }
    });
  };
}
