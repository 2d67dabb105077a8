/** A hook for React and React Native. It renders nothing. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Session, SessionState } from './index.ts';

/** The session's state, and the seconds left of its link: 0 if there is none. */
export type UsedSession = SessionState & { readonly secondsLeft: number };

/** A server has no user, and the page that it rendered must hydrate with the same state. */
const ON_SERVER: SessionState = { status: 'loading' };

/** Renders after each change of the session, and each second of its link. Mounting starts nothing, and unmounting ends nothing. */
export function useSession(session: Session): UsedSession {
  const state = useSyncExternalStore(
    session.subscribe,
    () => session.state,
    () => ON_SERVER,
  );
  const prompt = 'prompt' in state ? state.prompt : undefined;
  const [, tick] = useState(0);
  useEffect(() => {
    if (prompt === undefined) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, [prompt]);
  return { ...state, secondsLeft: prompt?.secondsLeft() ?? 0 };
}
