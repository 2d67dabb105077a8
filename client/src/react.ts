/** A sign-in as a hook, for React and React Native. It shows nothing itself. */
import { useCallback, useEffect, useInsertionEffect, useRef, useState } from 'react';
import { type CallOptions, type Prompt, type SignInOptions, signIn } from './index.ts';

/** Those of `signIn`, apart from what the hook does itself. */
export type UseSignInOptions = Omit<
  SignInOptions & CallOptions,
  'onPrompt' | 'onOpened' | 'signal'
>;

export interface SignInState {
  /**
   * `starting`: there is no link yet. `waiting`: show the prompt. `opened`: the user has opened
   * the link. `done`: the tokens are saved. `failed`: `error` says why. `cancelled`: by `cancel()`.
   */
  readonly status: 'starting' | 'waiting' | 'opened' | 'done' | 'failed' | 'cancelled';
  /** While the user can sign in. Another one takes its place when the link expires. */
  readonly prompt: Prompt | undefined;
  /** Until then, to count down. 0 without a prompt. */
  readonly secondsLeft: number;
  /** A `SignInError` has `show`, a sentence for the user. Anything else was thrown by a function of the app. */
  readonly error: (Error & { readonly show?: string; readonly code?: string }) | undefined;
}

export interface UseSignIn extends SignInState {
  /** The user goes back: the link says that it was cancelled. Unmounting does the same. */
  cancel(): void;
  /** Starts over with a new link. */
  restart(): void;
}

const EMPTY = { prompt: undefined, secondsLeft: 0, error: undefined };
const STARTING: SignInState = { ...EMPTY, status: 'starting' };

const isOver = ({ status }: SignInState) => status === 'done' || status === 'failed';

/** Runs it once, until the signal. */
async function run(
  options: () => UseSignInOptions,
  signal: AbortSignal,
  show: (state: Partial<SignInState>) => void,
): Promise<void> {
  // React mounts twice in StrictMode: the first one is unmounted before this continues.
  await undefined;
  if (signal.aborted) return;
  try {
    await signIn({
      ...options(),
      signal,
      save: (tokens) => options().save(tokens),
      onPrompt: (prompt) => show({ status: 'waiting', prompt, secondsLeft: prompt.secondsLeft() }),
      onOpened: () => show({ status: 'opened' }),
    });
    show({ ...EMPTY, status: 'done' });
  } catch (reason) {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    show({ ...EMPTY, status: 'failed', error });
  }
}

/**
 * Signs a user in while the component is mounted. It starts over when `relay` or `service`
 * changes, or with `restart()`. All other options may be new with each render.
 */
export function useSignIn(options: UseSignInOptions): UseSignIn {
  const { relay, service } = options;
  const [state, setState] = useState(STARTING);
  const [target, setTarget] = useState({ relay, service });
  const latest = useRef(options);
  const leave = useRef(() => {});

  if (target.relay !== relay || target.service !== service) setTarget({ relay, service });

  // With the render itself: other effects may run after an answer of the relay.
  useInsertionEffect(() => {
    latest.current = options;
  });

  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const show = (changes: Partial<SignInState>) => {
      if (!signal.aborted) setState((before) => ({ ...before, ...changes }));
    };
    show(STARTING);
    leave.current = () => {
      setState((before) => (isOver(before) ? before : { ...EMPTY, status: 'cancelled' }));
      leaving.abort();
    };
    void run(() => ({ ...latest.current, ...target }), signal, show);
    return () => leaving.abort();
  }, [target]);

  const { prompt } = state;
  useEffect(() => {
    if (prompt === undefined) return undefined;
    const tick = () => setState((before) => ({ ...before, secondsLeft: prompt.secondsLeft() }));
    const timer = setInterval(tick, 1_000);
    return () => clearInterval(timer);
  }, [prompt]);

  const cancel = useCallback(() => leave.current(), []);
  const restart = useCallback(() => setTarget((before) => ({ ...before })), []);
  return { ...state, cancel, restart };
}
