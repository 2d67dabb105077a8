/** The demo with you in it: shows the link, and waits for you to sign in somewhere else. */
import { startSignIn } from './device.ts';
import { type Arrival, receive } from './receive.ts';
import { say } from './say.ts';
import { openScreen } from './screen/screen.ts';
import { SERVICE, type Stage } from './stage.ts';

export async function signInWithPerson(stage: Stage, signal: AbortSignal): Promise<Arrival> {
  const signIn = await startSignIn(stage.relayUrl, SERVICE, { signal, onRetry: say });
  const screen = openScreen(signIn, process.stdout);
  try {
    return await receive(stage, signIn, { signal, onRetry: screen.trouble });
  } finally {
    screen.close();
  }
}
