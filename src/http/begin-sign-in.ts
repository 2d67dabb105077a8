/** A sign-in begun at either door: the same limits, the same sessions. */
import { log } from '../operate/log.ts';
import type { EnabledProvider } from '../providers/enabled.ts';
import type { Relay, Start, StartOptions } from '../relay/relay.ts';
import { createWarnOnce } from './admission.ts';

/** PKCE as the provider takes it. */
export type BeginSignIn = (
  enabled: EnabledProvider,
  asked: Omit<StartOptions, 'withVerifier'>,
  requestId: string,
) => Promise<Start>;

export function createBeginSignIn(relay: Relay): BeginSignIn {
  const warnOfBusy = createWarnOnce('sessions_full', SESSIONS_FULL_HINT);
  return async ({ provider }, asked, requestId) => {
    const withVerifier = provider.pkce !== 'none';
    const started = await relay.start(provider.name, { ...asked, withVerifier });
    if (started.ok) log.debug('sign_in_started', { requestId, service: provider.name });
    else if (started.refusal === 'busy') warnOfBusy();
    return started;
  };
}

const SESSIONS_FULL_HINT =
  'as many sign-ins are open as may be: starts are answered 503 until one ends (MAX_SESSIONS)';
