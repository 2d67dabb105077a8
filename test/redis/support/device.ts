/** What the device does: it polls, and comes again when it is told to. */
import type { RelayProcess } from '../../support/relay-process.ts';
import { poll, UNKNOWN_SECRET } from '../../support/wire.ts';

export type Result = Readonly<Record<string, unknown>> | 'gone';

export interface Parked {
  readonly answer: Promise<Response>;
}

/** Resolves when the poll is parked: the relay has looked for it in the store. */
export async function park(relay: RelayProcess, session: string): Promise<Parked> {
  const isPoll = ({ event }: { event: string }) => event === 'poll_waiting';
  const before = relay.events().filter(isPoll).length;
  const answer = poll(relay.baseUrl, session);
  // What becomes of it may be asked later.
  answer.catch(() => {});
  let seen = 0;
  await relay.waitForEvent((event) => isPoll(event) && ++seen > before);
  // Goes to the store by the same connection, so it is answered after it.
  await poll(relay.baseUrl, UNKNOWN_SECRET);
  return { answer };
}

/** Polls one relay after the other until there is an answer other than 204. */
export async function pollUntilDone(
  relays: readonly { readonly baseUrl: string }[],
  session: string,
): Promise<Result> {
  for (let turn = 0; ; turn += 1) {
    const { baseUrl = '' } = relays[turn % relays.length] ?? {};
    const response = await poll(baseUrl, session);
    if (response.status === 200) return (await response.json()) as Result;
    if (response.status === 410) return 'gone';
    if (response.status !== 204) throw new Error(`poll: ${response.status}`);
  }
}
