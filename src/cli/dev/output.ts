/** What the dev relay writes to its terminal: one line for each event. */
import { printable, styleFor } from '../terminal.ts';

export const style = styleFor(process.stdout);

/** The text may contain the name of a device, or what an app has sent. `number`: of a sign-in. */
export function say(text: string, number?: number): void {
  const who = (number === undefined ? '' : `#${number}`).padEnd(4);
  write(`${style('cyan', who)} ${printable(text)}`);
}

function write(line: string): void {
  const time = new Date().toTimeString().slice(0, 8);
  process.stdout.write(`${style('dim', time)}  ${line}\n`);
}

/** Takes one line of the relay's own log, as JSON. Shows it if an app developer can act on it. */
export function takeLog(json: string): void {
  const text = explain(JSON.parse(json) as LogEvent);
  if (text !== undefined) write(`     ${style('yellow', printable(text))}`);
}

interface LogEvent {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

const MEMBER_TYPES: ReadonlySet<unknown> = new Set(['string', 'boolean', 'number']);

/** Undefined for what sign-ins report themselves, and for what an app developer cannot act on. */
function explain({ level, event, ...fields }: LogEvent): string | undefined {
  switch (event) {
    case 'start_member_ignored': {
      const { member, expected } = fields;
      return MEMBER_TYPES.has(expected)
        ? `the start's "${member}" is not a ${expected}, so the relay ignores it`
        : `the start has a member "${member}" that the relay does not know and ignores`;
    }
    case 'start_body_cut':
      return 'the body of the start is longer than 512 bytes: the relay reads only the first 512';
    case 'exchange_failed':
      return `the provider gave no tokens for the code (${fields.status ?? fields.reason})`;
    case 'refresh_failed':
      return `the provider refused a refresh (${fields.providerError ?? fields.status ?? fields.reason})`;
    case 'callback_without_cookie':
      return 'a callback from a browser that had not pressed Continue was refused';
    default:
      return level === 'error'
        ? `the relay reports a fault: ${event} ${fields.error ?? ''}`
        : undefined;
  }
}

/** What a device did. Undefined: not a device, or one with the device grant, whose errors have a description. */
export function describeRequest({ pathname, searchParams }: URL): string | undefined {
  if (pathname === '/auth/start') return 'a start';
  if (pathname !== '/auth/result') return undefined;
  if (searchParams.get('ack') === '1') return 'an acknowledgement';
  return searchParams.get('cancel') === '1' ? 'a cancellation' : 'a poll';
}

/** What a device did, the error that it got, and what to do. In production only the device learns it. */
export function explainRefusal(
  what: string,
  status: number,
  text: string,
  services: readonly string[],
): string {
  const remedies = new Map([
    ['Invalid JSON', `send {"service":"${services[0]}"}`],
    ['Unknown service', `use ${services.join(' or ')}, or --service`],
    ['Method not allowed', `use ${what === 'a start' ? 'POST' : 'GET'}`],
    ['Session not found', 'no sign-in here has this session'],
  ]);
  const remedy = remedies.get(text);
  return `${what} got ${status} ${text}${remedy === undefined ? '' : `: ${remedy}`}`;
}
