/** The device's side once there is a link: wait for the tokens, and try what came. */
import { type Options, type SignIn, type Tokens, waitForTokens } from './device.ts';
import type { Stage } from './stage.ts';
import { askUserinfo } from './userinfo.ts';

export interface Arrival {
  readonly tokens: Tokens;
  /** Whom the access token belongs to, as the provider's userinfo says. */
  readonly userinfoName: string;
  /** What the relay answers when the device asks for the tokens once more. */
  readonly secondAnswer: string;
}

export async function receive(
  { relayUrl, issuer }: Stage,
  signIn: SignIn,
  options: Options,
): Promise<Arrival> {
  const tokens = await waitForTokens(relayUrl, signIn, options);
  return {
    tokens,
    userinfoName: await askUserinfo(issuer, tokens.accessToken),
    secondAnswer: await askAgain(relayUrl, signIn),
  };
}

async function askAgain(relayUrl: string, { session }: SignIn): Promise<string> {
  const response = await fetch(`${relayUrl}/auth/result?session=${session}`);
  return `${response.status} ${(await response.text()).trim()}`;
}
