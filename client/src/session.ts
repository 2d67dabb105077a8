/** The object that an app has: one account at one service, from the sign-in to the sign-out. */
import { another, stop } from './ask.ts';
import type { Failure } from './errors.ts';
import { createKeeper, type Keeper, type Lock, noTokens } from './keeper.ts';
import { ownTokenUrl, type Prompt, type StartOptions } from './link.ts';
import { type Call, type Done, type Trouble, tellApp } from './platform.ts';
import { revoke, type SignedOut } from './revoke.ts';
import { type SignInOptions, signIn } from './sign-in.ts';
import { createMemory, keyOf, type Owner, openStorage, type SessionStorage } from './storage.ts';
import type { Tokens } from './tokens.ts';

export interface SessionOptions extends StartOptions, Owner {
  /** Where tokens and unfinished sign-ins are kept. Not given: in memory, until the process ends. */
  readonly storage?: SessionStorage | undefined;
  /** For a log. None of them has a secret. */
  readonly onEvent?: ((event: SessionEvent) => void) | undefined;
}

export type SessionEvent =
  /** The user has opened the link. */
  | { readonly type: 'opened' }
  /** The relay answered that it cannot, or not what a relay answers; it is asked again. */
  | { readonly type: 'retrying'; readonly detail: string }
  /** Nothing answered; it is asked again. */
  | { readonly type: 'offline'; readonly detail: string }
  | { readonly type: 'refreshed' }
  /** The tokens of a sign-in or a refresh are stored. */
  | { readonly type: 'saved' };

export type SessionState<Problem = Failure> =
  /** The storage has not answered yet. */
  | { readonly status: 'loading' }
  /** With an error: the tokens do not work any more. */
  | { readonly status: 'signed-out'; readonly error?: Problem }
  /** There is no link yet. */
  | { readonly status: 'starting' }
  /** Show the prompt. Another one takes its place when the link expires, three times at most. */
  | { readonly status: 'waiting'; readonly prompt: Prompt }
  /** The user has opened the link. */
  | { readonly status: 'opened'; readonly prompt: Prompt }
  /** The relay cannot be reached, or cannot serve. It is asked again until it can. */
  | { readonly status: 'reconnecting'; readonly prompt?: Prompt }
  | { readonly status: 'signed-in' }
  /** The sign-in failed. Who was signed in before still is. */
  | { readonly status: 'failed'; readonly error: Problem };

/** What both builds have; each gives it its own form. */
export interface Core {
  getState(): SessionState;
  subscribe(listener: () => void): () => void;
  /** Calls back with whether the user is signed in: not if it was cancelled. */
  signIn(done: Done<boolean>): void;
  cancel(): void;
  signOut(done: Done<SignedOut>): void;
  getToken: Keeper;
  getTokens(done: Done<Tokens>): void;
}

const SIGNED_OUT: SessionState = { status: 'signed-out' };
const SIGNED_IN: SessionState = { status: 'signed-in' };

/** Where sessions without a storage of their own keep their tokens. */
const memory = createMemory();

interface Opened {
  readonly items: SessionStorage;
  readonly key: string;
  readonly core: unknown;
}

/** The sessions of this process: two of one key in one storage are the same. */
const opened: Opened[] = [];

/** The one that is open, or a new one. */
export function openOnce<Session>(
  options: SessionOptions,
  open: (items: SessionStorage, key: string) => Session,
): Session {
  const items = options.storage || memory;
  const key = keyOf(options);
  const found = opened.filter((each) => each.items === items && each.key === key)[0];
  if (found) return found.core as Session;
  const core = open(items, key);
  opened.push({ items, key, core });
  return core;
}

export function createCore(
  base: Call,
  options: SessionOptions,
  items: SessionStorage,
  key: string,
  lock: Lock,
): Core {
  const { relay, service, onEvent } = options;
  const place = { relay, service };
  const { platform } = base;
  const tokenUrl = ownTokenUrl(options);
  const storage = openStorage(platform, items, key, tokenUrl, () => tell({ type: 'saved' }));
  const keeper = createKeeper(base, place, storage, lock, () => tell({ type: 'refreshed' }));
  let state: SessionState = { status: 'loading' };
  /** What is shown again when the relay answers again. */
  let connected: SessionState = state;
  let listeners: (() => void)[] = [];
  /** The sign-in in progress, and who waits for its end. */
  let call: Call | undefined;
  let ends: Done<boolean>[] = [];
  /** It has brought tokens: too late to cancel. */
  let isSaving = false;

  const tell = (event: SessionEvent) => tellApp(platform, () => onEvent?.(event));
  const revokeLater = (tokens: Tokens) => revoke(another(base), place, tokens, () => {});

  function show(next: SessionState): void {
    if (next === state) return;
    state = next;
    listeners.forEach((listener) => {
      tellApp(platform, listener);
    });
  }

  /** Unless a sign-in is in progress or has failed, of which the user reads. */
  function showStored(isSignedIn: boolean, error?: unknown): void {
    if (call || state.status === 'failed') return;
    if (isSignedIn) show(SIGNED_IN);
    else if (state.status !== 'signed-out') {
      show(error ? { status: 'signed-out', error: error as Failure } : SIGNED_OUT);
    }
  }

  function load(done: Done<Tokens>): void {
    storage.load((failure, tokens) => {
      showStored(!!tokens, failure);
      done(failure, tokens);
    });
  }

  function onReply(trouble: Trouble | undefined): void {
    const isReconnecting = state.status === 'reconnecting';
    if (!trouble) {
      if (isReconnecting) show(connected);
      return;
    }
    tell({ type: trouble.isAnswered ? 'retrying' : 'offline', detail: trouble.detail });
    if (isReconnecting) return;
    connected = state;
    const { prompt } = state as { readonly prompt?: Prompt };
    show({ status: 'reconnecting', ...(prompt && { prompt }) });
  }

  function start(current: Call): void {
    current.onReply = onReply;
    show({ status: 'starting' });
    const save: SignInOptions['save'] = (tokens, done) => {
      isSaving = true;
      storage.replace(tokens, (failure, stored) => {
        // The user has signed out before it was stored.
        if (!failure && !stored) revokeLater(tokens);
        done(failure, stored);
      });
    };
    const onPrompt = (prompt: Prompt) => show({ status: 'waiting', prompt });
    const onOpened = () => {
      tell({ type: 'opened' });
      const { prompt } = state as { readonly prompt?: Prompt };
      if (prompt) show({ status: 'opened', prompt });
    };
    const { unfinished } = storage;
    signIn(current, { ...options, unfinished, save, onPrompt, onOpened }, (failure, tokens) =>
      finish(failure, !!tokens),
    );
  }

  function finish(failure: unknown, isSignedIn: boolean): void {
    const waiting = ends;
    ends = [];
    call = undefined;
    isSaving = false;
    if (failure) show({ status: 'failed', error: failure as Failure });
    else if (isSignedIn) show(SIGNED_IN);
    waiting.forEach((done) => {
      tellApp(platform, () => done(failure, isSignedIn));
    });
  }

  function leave(): void {
    if (!call) return;
    stop(call);
    finish(undefined, false);
  }

  load(() => {});
  return {
    getState: () => state,
    subscribe(listener) {
      listeners = listeners.concat(listener);
      return () => {
        listeners = listeners.filter((each) => each !== listener);
      };
    },
    signIn(done) {
      if (ends.push(done) > 1) return;
      call = another(base);
      start(call);
    },
    cancel() {
      if (isSaving || !(call || state.status === 'failed')) return;
      leave();
      state = { status: 'loading' };
      load(() => {});
    },
    signOut(done) {
      storage.end();
      leave();
      show(SIGNED_OUT);
      let tokens: Tokens | undefined;
      storage.load((_, stored) => {
        tokens = stored;
      });
      storage.unfinished.remove(() => {});
      storage.clear((failure) => {
        if (!tokens) return done(failure, { revoked: false, detail: noTokens().detail });
        revoke(another(base), place, tokens, (result) => done(failure, result));
      });
    },
    getToken: (done, rejected) =>
      keeper((failure, token) => {
        const isEnd = Object(failure).code === 'invalid_grant';
        if (!failure || isEnd) showStored(!failure, failure);
        done(failure, token);
      }, rejected),
    getTokens: load,
  };
}
