/** The demo without you: it goes through the provider's pages by itself, with no browser. */
import { startSignIn } from '../device.ts';
import { type Arrival, receive } from '../receive.ts';
import { say } from '../say.ts';
import { SERVICE, type Stage } from '../stage.ts';
import { signInAs } from './person.ts';

/** More than any machine needs. A person has as long as the link lives. */
const TIMEOUT_MS = 60_000;

export async function signInAlone(stage: Stage, stopped: AbortSignal): Promise<Arrival> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const lost = new AbortController();
  const signal = AbortSignal.any([stopped, timeout, lost.signal]);
  const signIn = await startSignIn(stage.relayUrl, SERVICE, { signal, onRetry: say });
  say('The relay gave the device a link. A person opens it and signs in as Ada.');
  const journey = browse(signIn.url, signal);
  // A person who got lost will never finish: the device need not wait for the link to end.
  journey.catch((error: unknown) => lost.abort(error));
  const [arrival] = await Promise.all([receive(stage, signIn, { signal, onRetry: say }), journey]);
  return arrival;
}

async function browse(link: string, signal: AbortSignal): Promise<void> {
  const { status, title } = await signInAs('Ada', link, signal);
  say(`The person's browser shows "${title}".`);
  if (status !== 200 || title !== 'Signed in') {
    throw new Error(`The browser ended at "${title}" (${status}) and not at "Signed in".`);
  }
}
