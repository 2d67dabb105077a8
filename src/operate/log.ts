/**
 * One line an event. Fields are chosen one by one where the event happens:
 * never an address with its query, a token, a code, a state, a secret, a
 * verifier, or the message of an error that may hold one.
 */
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

let requests = 0;
const processId = Math.random().toString(36).slice(2, 8);

/** Ties the lines of one request together. Not a secret, and not made from one. */
export function createRequestId(): string {
  requests += 1;
  return `${processId}-${requests.toString(36)}`;
}

/** What of an error may be written: its kind and where it arose, not its message. */
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
