/** A whole sign-in against relays whose store fails: everybody tries again as people and devices do. */
import { plantSecret } from '../../support/secrets.ts';
import { pollUntilDone, type Result } from './device.ts';
import { bringCode, makeCode } from './person.ts';

/** Where the relays are. */
type Relays = readonly [Place, Place];
type Place = { readonly baseUrl: string };

export interface SignedIn {
  readonly code: string;
  /** Of two polls that raced, one at each relay. */
  readonly results: readonly Result[];
}

/** Between two tries; a person or a device is not quicker. */
const PAUSE_MS = 50;

export async function signIn(relays: Relays): Promise<SignedIn> {
  const { session, state } = await startWhenPossible(relays[0]);
  const polls = relays.map((relay) => pollUntilDone([relay], session));
  const code = makeCode();
  await bringCodeWhenPossible(relays, state, code);
  return { code, results: await Promise.all(polls) };
}

export async function startWhenPossible({ baseUrl }: Place) {
  for (;;) {
    const response = await fetch(`${baseUrl}/auth/start`, {
      method: 'POST',
      body: JSON.stringify({ service: 'mal' }),
    });
    if (response.status === 200) {
      const { session, url } = (await response.json()) as { session: string; url: string };
      const state = new URL(url).searchParams.get('state') ?? '';
      return { session: plantSecret(session), state: plantSecret(state) };
    }
    if (response.status !== 503) throw new Error(`start: ${response.status}`);
    await Bun.sleep(PAUSE_MS);
  }
}

/** Reloads the page as long as the relay asks for it; at another relay each time. */
export async function bringCodeWhenPossible(relays: Relays, state: string, code: string) {
  for (let turn = 1; ; turn += 1) {
    const response = await bringCode(relays[turn % 2] ?? relays[0], state, code);
    await response.body?.cancel();
    if (response.status !== 503) return response.status;
    await Bun.sleep(PAUSE_MS);
  }
}
