/** One whole sign-in: a device, a person's browser, and the provider in between. */
import type { Answer, Connection } from './connection.ts';
import { onConnection } from './pool.ts';
import { takeAnsweredAt } from './provider.ts';
import { authorizeRequest, callbackRequest, pollRequest, startRequest } from './requests.ts';

/** The ports of the relays: one and the same, or two that share a store. */
export interface Relays {
  readonly device: number;
  readonly browser: number;
}

/** The two capabilities of a session. */
export interface Started {
  readonly session: string;
  readonly state: string;
}

export interface Times {
  /** From the provider's answer to the tokens in the device's hands. */
  readonly handOverMs: number;
  /** From the start to the tokens, without the person's own time. */
  readonly wholeMs: number;
}

let codes = 0;

/** `personMs`: how long the person takes, while the poll is parked. */
export async function signIn(relays: Relays, personMs = 0): Promise<Times> {
  const begunMs = performance.now();
  const started = await onConnection(relays.device, start);
  const times = await finish(relays, started, personMs);
  return { ...times, wholeMs: performance.now() - begunMs - personMs };
}

export async function start(device: Connection): Promise<Started> {
  const answer = expectStatus(200, await device.send(startRequest()), 'start');
  const { session, url } = JSON.parse(answer.body) as { session: string; url: string };
  return { session, state: url.slice(url.indexOf('=') + 1) };
}

/** All but the start. */
export async function finish(
  relays: Relays,
  { session, state }: Started,
  personMs = 0,
): Promise<Times> {
  const begunMs = performance.now();
  const delivered = onConnection(relays.device, async (device) => {
    const answer = expectStatus(200, await device.send(pollRequest(session)), 'poll');
    return { ...answer, atMs: performance.now() };
  });
  codes += 1;
  const code = String(codes);
  const [result] = await Promise.all([delivered, browse(relays.browser, state, code, personMs)]);
  if (!result.body.startsWith('{"accessToken"')) throw new Error('the device got no tokens');
  const handOverMs = result.atMs - takeAnsweredAt(code);
  return { handOverMs, wholeMs: result.atMs - begunMs - personMs };
}

async function browse(port: number, state: string, code: string, personMs: number): Promise<void> {
  await onConnection(port, async (browser) => {
    expectStatus(302, await browser.send(authorizeRequest(state)), 'authorize');
  });
  if (personMs > 0) await Bun.sleep(personMs);
  await onConnection(port, async (browser) => {
    expectStatus(200, await browser.send(callbackRequest(state, code)), 'callback');
  });
}

export function expectStatus(status: number, answer: Answer, what: string): Answer {
  if (answer.status !== status) throw new Error(`${what}: ${answer.status} ${answer.body.trim()}`);
  return answer;
}
