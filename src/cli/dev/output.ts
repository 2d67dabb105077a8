/** What the dev relay writes to its terminal: one line for each event. */
import { REFUSALS } from '../../http/responses.ts';
import { START_PATH } from '../../http/routes.ts';
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

/** Takes a line of the relay's own log, as JSON. Shows it if an app developer can act on it and no sign-in reports it. */
export function takeLog(json: string): void {
  const line: Readonly<Record<string, string>> = JSON.parse(json);
  const { level, event, member, expected, readBytes, error = '' } = line;
  const show = (text: string) => write(`     ${style('yellow', printable(text))}`);
  if (event === 'start_member_ignored') {
    show(
      ['string', 'boolean', 'number'].includes(`${expected}`)
        ? `the start's "${member}" is not a ${expected}, so the relay ignores it`
        : `the start has a member "${member}" that the relay does not know and ignores`,
    );
  } else if (event === 'start_body_cut') {
    show(`the body of the start is longer than ${readBytes} bytes: the relay reads only those`);
  } else if (level === 'error') show(`the relay reports a fault: ${event} ${error}`);
}

/** Which request of a device it is. Undefined for any other, and for polls of the device grant, whose errors have a description. */
export function describeRequest({ pathname, searchParams }: URL): string | undefined {
  if (pathname !== '/open' && START_PATH.test(pathname)) return 'a start';
  if (pathname !== '/auth/result') return undefined;
  if (searchParams.get('ack') === '1') return 'an acknowledgement';
  return searchParams.get('cancel') === '1' ? 'a cancellation' : 'a poll';
}

/** What to do about an error of the relay, which in production only the device gets. */
export const remedyFor = (error: string, what: string, services: readonly string[]) =>
  ({
    [REFUSALS.invalid_json.text]: `: send {"service":"${services[0]}"}`,
    [REFUSALS.unknown_service.text]: `: use ${services.join(' or ')}, or --service`,
    [REFUSALS.method_not_allowed.text]: `: use ${what === 'a start' ? 'POST' : 'GET'}`,
    [REFUSALS.session_not_found.text]: ': no sign-in here has this session',
  })[error] ?? '';
