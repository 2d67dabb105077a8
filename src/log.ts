/**
 * The log: one line for each event. Fields are chosen one by one where the event
 * happens. Never an address with its query, a token, a code, a state, a secret, a
 * verifier, or the message of an error that may hold one. docs/operating.md lists
 * every event.
 */
import type { Writable } from 'node:stream';
import { configure, getLogger, type LogLevel, type LogRecord } from '@logtape/logtape';

/** Silent until `startLog`, so that a program which embeds the relay decides for itself. */
export const log = getLogger(['sign-in-relay']);

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warning' | 'error';
  readonly format: 'json' | 'text';
  readonly write: (line: string) => void;
}

export async function startLog({ level, format, write }: LogOptions): Promise<void> {
  const toLine = format === 'json' ? jsonLine : textLine;
  await configure({
    reset: true,
    sinks: { lines: (record) => write(toLine(record)) },
    loggers: [
      { category: ['sign-in-relay'], lowestLevel: level, sinks: ['lines'] },
      // The library's own remarks matter only when something is wrong with it.
      { category: ['logtape', 'meta'], lowestLevel: 'error', sinks: ['lines'] },
    ],
  });
}

/** Returns a function that logs a warning the first time: it would come with every request. */
export function warnOnce(event: string, hint: string): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warning(event, { hint });
    warned = true;
  };
}

let requests = 0;
const processId = Math.random().toString(36).slice(2, 8);

/** Ties the lines of one request together. It is no secret, and not made from one. */
export function createRequestId(): string {
  requests += 1;
  return `${processId}-${requests.toString(36)}`;
}

/** What of an error may be logged: its kind and where it arose, not its message. */
export function describeError(error: unknown): { error: string; at?: string[] } {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  const { message, stack = '' } = error;
  // Only what follows the message, which may have lines that look like frames.
  const messageAt = stack.indexOf(message);
  const trace = messageAt === -1 ? '' : stack.slice(messageAt + message.length);
  const frames = trace.split('\n').filter((line) => /^\s+at /.test(line));
  return { error: `${error.name}${code}`, at: frames.slice(0, 5).map((line) => line.trim()) };
}

function jsonLine({ timestamp, level, rawMessage, properties }: LogRecord): string {
  const time = new Date(timestamp).toISOString();
  return `${JSON.stringify({ time, level, event: rawMessage, ...properties })}\n`;
}

function textLine({ timestamp, level, rawMessage, properties }: LogRecord): string {
  const time = new Date(timestamp).toISOString();
  const fields = Object.entries(properties).map(([name, value]) => `${name}=${textValue(value)}`);
  return `${[time, LEVEL_NAMES[level], rawMessage, ...fields].join(' ')}\n`;
}

const LEVEL_NAMES: Record<LogLevel, string> = {
  trace: 'TRACE',
  debug: 'DEBUG',
  info: 'INFO ',
  warning: 'WARN ',
  error: 'ERROR',
  fatal: 'FATAL',
};

function textValue(value: unknown): string {
  return typeof value === 'string' && /^[\w:/.,-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Characters of log lines that may wait to be written, some 5,000 lines. More are left out. */
const MAX_BACKLOG_CHARACTERS = 1_048_576;

/**
 * Returns a function that writes a line to `output`. A log that cannot be written,
 * because its reader has left or its disk is full, ends nobody's sign-in: the relay
 * says so once on `errors` and goes on. Once a line is written again, the log says
 * how many are missing. Both streams need a listener for their errors.
 */
export function createLogOutput(output: Writable, errors: Writable): (line: string) => void {
  let waiting = 0;
  let lostLines = 0;
  let isFailing = false;

  function fail(reason: string): void {
    if (!isFailing) errors.write(`The log cannot be written (${reason}); the relay goes on.\n`);
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
    // The reader stands still: what it does not take would fill the memory.
    if (waiting > MAX_BACKLOG_CHARACTERS) {
      lostLines += 1;
      return fail('nobody reads it');
    }
    waiting += line.length;
    output.write(line, (error) => {
      waiting -= line.length;
      if (error) {
        lostLines += 1;
        fail('code' in error ? String(error.code) : error.name);
      } else if (isFailing && waiting === 0) {
        recover();
      }
    });
  };
}
