/** An app in React, for a server and a page: one line of text says all that it knows. */
import { createElement, StrictMode, useEffect } from 'react';
import { hydrateRoot, type Root } from 'react-dom/client';
import { createSession, type Session } from '../../client/src/index.ts';
import { useSession } from '../../client/src/react.ts';

/** `isShort`: it signs in while it is mounted. */
export function App({
  session,
  isShort,
}: {
  readonly session: Session;
  readonly isShort: boolean;
}) {
  const state = useSession(session);
  useEffect(() => {
    if (!isShort) return undefined;
    void session.signIn();
    return session.cancel;
  }, [session, isShort]);
  const link = 'prompt' in state ? state.prompt?.link : undefined;
  const why = 'error' in state ? state.error?.show : undefined;
  return createElement('p', null, JSON.stringify([state.status, state.secondsLeft, why ?? link]));
}

/** In a page whose markup is of a server. */
function hydrate(relay: string, isShort: boolean) {
  const errors: string[] = [];
  const session = createSession({ relay, service: 'mal', code: false, storage: localStorage });
  const drawn = createElement(StrictMode, null, createElement(App, { session, isShort }));
  const show = (): Root =>
    hydrateRoot(document.body, drawn, {
      onRecoverableError: (error) => errors.push(String(error)),
      onUncaughtError: (error) => errors.push(String(error)),
    });
  return { errors, session, show };
}

if (globalThis.document) Object.assign(globalThis, { hydrate });
