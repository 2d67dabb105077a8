/** A session in React and React Native. It shows nothing itself. */
import { useEffect, useState, useSyncExternalStore } from 'react';
import type { Session, SessionState } from './index.ts';

/** What the session is doing, and how long its link is good for: 0 without one. */
export type UsedSession = SessionState & { readonly secondsLeft: number };

/** A server has no user, and a page that it rendered begins as the server left it. */
const ON_SERVER: SessionState = { status: 'loading' };

/** Renders again with each change of the session, and with each second of its link. Mounting and unmounting start and end nothing. */
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
