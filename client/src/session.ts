/** The session object: it runs the effects of the state machine (machine.ts), and refreshes tokens. */
import { type Call, pause, stop } from './ask.ts';
import { SignInError, type SignInErrorCode } from './errors.ts';
import { type Link, poll, resume, type StartOptions, sendAckOrCancel, start } from './link.ts';
import type { Lock } from './lock.ts';
import * as machine from './machine.ts';
import type { Platform } from './platform.ts';
import { notRevoked, revoke, type SignedOut } from './revoke.ts';
import { createMemory, keyOf, type Owner, openStorage, type SessionStorage } from './storage.ts';
import { isClockPlausible, isDue, isExpired, refresh, type Tokens } from './tokens.ts';

export interface SessionOptions extends StartOptions, Owner {
  /** Where tokens and unfinished sign-ins are kept. Default: in memory, until the process ends. */
  readonly storage?: SessionStorage | undefined;
}

export interface RejectedToken {
  /** The access token that the API refused, so that it is replaced. */
  readonly rejected?: string | undefined;
}

/** One account at one service. Its functions need no `this`. */
export interface Session {
  readonly state: machine.SessionState;
  /** Calls the listener after each change of `state`. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void;
  /**
   * Resolves with true when the user has signed in and the tokens are stored, with false after
   * `cancel`. Continues a sign-in that an earlier process has not ended. A call during a sign-in
   * waits for that one.
   */
  signIn(): Promise<boolean>;
  /** Ends a sign-in, so that its link says so, and dismisses a failed one. Too late once the tokens have arrived. */
  cancel(): void;
  /**
   * Deletes the tokens, then asks the provider for up to 15 s to revoke them.
   * Rejects only if the storage cannot delete them.
   */
  signOut(): Promise<SignedOut>;
  /**
   * An access token that is valid as far as the device knows. It is refreshed in time, once for
   * all callers. Rejects with `signed_out` or `invalid_grant` if the user has to sign in.
   */
  getToken(options?: RejectedToken): Promise<string>;
  /** Everything that is stored, even if it has expired. Undefined if nothing is. */
  getTokens(): Promise<Tokens | undefined>;
}

/** How often an expired link is replaced. Each link is a session at the relay, and the screen may be unattended. */
const MAX_RENEWALS = 3;
/** How often the storage is read again, because another process may be saving new tokens. */
const RECHECKS = 4;
const RECHECK_MS = 1_000;
/** The pause after a failed refresh, while the token is still valid. */
const REFRESH_PAUSE_MS = 10_000;
/** Backoff of four tries to save: they take less than the minute for which the relay keeps a result. */
const SAVE_PAUSE_MS = 500;
const LONGEST_SAVE_PAUSE_MS = 2_000;

/** The default storage. */
const memory = createMemory();

/** The sessions of this process. There is one for each key of a storage. */
const opened: {
  readonly items: SessionStorage;
  readonly key: string;
  readonly options: SessionOptions;
  readonly session: Session;
}[] = [];

/** Returns the open session, or a new one. Throws if the open one has other options. */
export function openOnce<Own extends Session>(
  options: SessionOptions,
  open: (items: SessionStorage, key: string) => Own,
): Own {
  const items = options.storage || memory;
  const key = keyOf(options);
  const found = opened.filter((each) => each.items === items && each.key === key)[0];
  if (!found) {
    const session = open(items, key);
    opened.push({ items, key, options, session });
    return session;
  }
  // Functions are not compared: apps often create new ones for each call.
  const textOf = (of: SessionOptions, name: string) => JSON.stringify(of[name as 'open']);
  const others = Object.keys({ ...found.options, ...options }).filter(
    (name) =>
      !/^(relay|storage)$/.test(name) && textOf(options, name) !== textOf(found.options, name),
  );
  if (!others[0]) return found.session as Own;
  const detail = `This session is open with other options: ${others.join(', ')}`;
  throw new SignInError('options_differ', detail);
}

const NOBODY = 'Nobody is signed in';
const ignore = () => {};
const hasCode = (code: SignInErrorCode, error: unknown) => (error as SignInError)?.code === code;

/** The sign-in in progress, or the last one. */
interface Running extends Call<SessionOptions> {
  readonly attempt: number;
  readonly ended: Promise<boolean>;
  settle(isSignedIn: boolean, error: unknown): void;
  link?: Link | undefined;
}

export function createCore(
  platform: Platform,
  options: SessionOptions,
  items: SessionStorage,
  key: string,
  lock: Lock,
): Session {
  const { now, date, later } = platform;
  /** For requests that go on after a sign-in has ended. */
  const call: Call<SessionOptions> = { platform, options };
  const storage = openStorage(platform, options, items, key);
  let state = machine.FIRST_STATE;
  let shown = machine.shownOf(state);
  let listeners: (() => void)[] = [];
  let running: Running;
  let signingOut: Promise<SignedOut>;
  let pausedUntilMs = 0;
  /** The tokens of the last sign-in. */
  let received: Tokens | undefined;
  /** The last access token that the API refused. */
  let refused: string | undefined;

  function apply(event: machine.Event): void {
    const [next, ...effects] = event(state, date());
    state = next;
    // The same object until it changes, as React requires. Two links are never equal.
    const before = shown;
    const after = machine.shownOf(state);
    if (JSON.stringify(after) !== JSON.stringify(before)) shown = after;
    effects.forEach(carryOut);
    if (shown !== before) listeners.forEach(notify);
  }

  /** Rethrows an exception of the listener asynchronously, so that it does not affect other listeners. */
  function notify(listener: () => void): void {
    try {
      // Another listener may have unsubscribed it.
      if (listeners.indexOf(listener) >= 0) listener();
    } catch (error) {
      later(0, () => {
        throw error;
      });
    }
  }

  function carryOut(effect: machine.Effect): void {
    switch (effect.type) {
      case 'sign-in':
        running = newRunning(effect.attempt);
        signIn(running).catch((error) => apply(machine.failed(effect.attempt, error)));
        break;
      case 'end':
        end(effect.how, effect.error);
        break;
      case 'save':
        save().catch(ignore);
        break;
      case 'clear':
        signingOut = clear(effect.known);
        signingOut.catch(ignore);
        break;
      case 'revoke':
        void revoke(call, effect.tokens);
    }
  }

  function newRunning(attempt: number): Running {
    let settle: Running['settle'] = ignore;
    const ended = new Promise<boolean>((resolve, reject) => {
      settle = (isSignedIn, error) => (error ? reject(error) : resolve(isSignedIn));
    });
    // An app that only renders the state need not handle this rejection.
    ended.catch(ignore);
    return { platform, options, attempt, ended, settle };
  }

  async function signIn(own: Running): Promise<void> {
    const { attempt } = own;
    own.onReply = (detail) => {
      apply(machine.connectionChanged(attempt, detail));
      // Another process may have signed in, and no event reports that.
      read().catch(ignore);
    };
    // An earlier process may have left a link.
    const unfinished = await storage.unfinished.read();
    own.link = resume(call, unfinished);
    if (own.isStopped) {
      // Cancelled before the link was known. If the app has begun another attempt, that continues it.
      if (running === own) end('cancelled');
      return;
    }
    // Tokens that could not be stored are stored now: their code cannot be exchanged again.
    const isHeld = received && state.unsaved?.value === received;
    if (!isHeld) received = await waitForTokens(own, 0);
    apply(machine.granted(attempt, received as Tokens));
  }

  /** Waits for the tokens. Replaces the link when it expires. */
  async function waitForTokens(own: Running, renewals: number): Promise<Tokens> {
    const link = await (own.link || startLink(own));
    const { prompt } = link;
    // An expired link is not shown, but its result may still arrive.
    const isValid = prompt.secondsLeft() > 0;
    const show = (status: 'waiting' | 'opened') => {
      if (isValid) apply(machine.linkShown(own.attempt, status, prompt));
    };
    show('waiting');
    return poll(own, link, () => show('opened')).catch((error) => {
      if (!hasCode('expired', error) || renewals === MAX_RENEWALS) throw error;
      own.link = undefined;
      // Another process may have fetched and acknowledged the result of the same link.
      return read()
        .catch(ignore)
        .then(storage.unfinished.remove)
        .then(() => waitForTokens(own, renewals + 1));
    });
  }

  /** Starts a sign-in, and stores its link so that another process can continue it. */
  async function startLink(own: Running): Promise<Link> {
    const link = await start(own);
    own.link = link;
    const text = JSON.stringify(link.resumable);
    // A listener may have cancelled as soon as the response was there.
    const kept = own.isStopped ? Promise.reject() : storage.unfinished.save(text);
    await kept.catch((error) => {
      // No user has seen this link.
      sendAckOrCancel(own, link, 'cancel');
      throw error;
    });
    return link;
  }

  function end(how: machine.End, error?: SignInError): void {
    const { link, settle } = running;
    stop(running);
    if (link && how !== 'failed') sendAckOrCancel(call, link, how === 'saved' ? 'ack' : 'cancel');
    let removed: Promise<unknown> = Promise.resolve();
    // If storing failed, keep the link: the relay still has the result for a minute.
    if (link && !hasCode('storage_failed', error)) {
      running.link = undefined;
      removed = storage.unfinished.remove();
    }
    void removed.then(() => settle(how !== 'cancelled', error));
  }

  const readNow = () => {
    const { version, attempt, signIn } = state;
    return storage.read().then(
      ({ tokens, ended, unfinished }) => {
        // A read that began before a sign-in ended may find its link.
        const isPast = signIn || state.attempt !== attempt;
        const isResumable = !isPast && !!resume(call, unfinished)?.prompt.secondsLeft();
        apply(machine.storageRead(version, tokens, ended, isResumable));
      },
      (error) => {
        apply(machine.storageFailed(error));
        throw error;
      },
    );
  };
  const read = singleFlight(readNow);

  /** Four tries for each value. Another process may sign out, or in, between two of them. */
  const store = (pauseMs: number): Promise<void> => {
    const current = () => state.unsaved?.value;
    const tried = current();
    return storage.save(current).then(
      (value) => {
        if (value) apply(machine.saved(value));
        // The sign-in had failed, and its link would bring these tokens again when they are old.
        if (value && value === received && !state.signIn && running.link) end('saved');
        return state.unsaved && store(SAVE_PAUSE_MS);
      },
      (error) => {
        if (pauseMs > LONGEST_SAVE_PAUSE_MS && current() === tried) {
          apply(machine.saveFailed(error));
          throw error;
        }
        return pause(call, pauseMs)
          .then(() => state.tokens && read().catch(ignore))
          .then(() => store(current() === tried ? pauseMs * 2 : SAVE_PAUSE_MS));
      },
    );
  };
  const save = singleFlight(() => store(SAVE_PAUSE_MS));

  async function clear(known: Tokens | undefined): Promise<SignedOut> {
    const { version } = state;
    // Queued now, so that nothing that the app does next comes first.
    const found: Promise<{ tokens?: Tokens | undefined; detail?: string }> = storage
      .read()
      .catch(({ detail }) => ({ detail }));
    void storage.unfinished.remove();
    const cleared = storage.clear().then(ignore, (reason: SignInError) => reason);
    const { tokens = known, detail = NOBODY } = await found;
    const error = await cleared;
    if (error) apply(machine.ended(version, error, tokens));
    const result = await (tokens ? revoke(call, tokens) : notRevoked(detail));
    if (error) throw error;
    return result;
  }

  function requireTokens(): Tokens {
    const { error } = state.account as { readonly error?: SignInError };
    if (!state.tokens) throw error || new SignInError('signed_out', NOBODY);
    return state.tokens;
  }

  /** True if the access token is stored, was not refused and has not expired. */
  const isUsable = (tokens: Tokens) =>
    !state.unsaved && tokens.accessToken !== refused && !isExpired(tokens, date());

  async function getToken(options?: RejectedToken): Promise<string> {
    await read();
    const tokens = requireTokens();
    if (tokens.accessToken === options?.rejected) refused = tokens.accessToken;
    if (isUsable(tokens) && isClockPlausible(tokens, date())) {
      if (isDue(tokens, date()) && now() >= pausedUntilMs) refreshOnce().catch(ignore);
      return tokens.accessToken;
    }
    await refreshOnce().catch((error) => {
      // While a refresh is impossible, a token that may work is better than none.
      if (!state.tokens || !isUsable(state.tokens)) throw error;
    });
    return requireTokens().accessToken;
  }

  const refreshOnce = singleFlight(() =>
    lock(refreshLocked).catch((error) => {
      pausedUntilMs = now() + REFRESH_PAUSE_MS;
      throw error;
    }),
  );

  /** Refreshes the stored tokens, unless another process did before this one got the lock. */
  async function refreshLocked(): Promise<void> {
    // Not `read`, which could share a run that began before the lock was held.
    await readNow();
    const { version, tokens, unsaved } = state;
    if (!tokens) return;
    if (unsaved) {
      await save();
      return refreshLocked();
    }
    if (!isDue(tokens, date()) && isUsable(tokens) && isClockPlausible(tokens, date())) return;
    const { accessToken, refreshToken: spent } = tokens;
    if (!spent) {
      // The device's clock may be wrong, so only a refusal by the API ends the session.
      if (accessToken !== refused) throw machine.noRefreshToken('has expired');
      return apply(machine.ended(version, machine.noRefreshToken('was not accepted')));
    }
    // Another process may have used this single-use token. Then it stores its new tokens soon.
    const recheck = (error: SignInError, nth: number): void | Promise<void> => {
      if (state.tokens?.refreshToken !== spent) return;
      if (nth === RECHECKS) return apply(machine.ended(version, error));
      const checked = pause(call, nth && RECHECK_MS).then(readNow);
      return checked.then(() => recheck(error, nth + 1));
    };
    const fresh = await refresh(call, tokens).catch((error) => {
      if (!hasCode('invalid_grant', error)) throw error;
      return recheck(error, 0);
    });
    if (!fresh) return refreshLocked();
    // A sign-out or a new sign-in meanwhile, here or in another process, takes precedence.
    await read().catch(ignore);
    apply(machine.refreshed(version, spent, fresh));
    return state.tokens === fresh ? save() : refreshLocked();
  }

  read().catch(ignore);
  platform.onStored?.(() => read().catch(ignore));
  return {
    get state() {
      return shown;
    },
    subscribe(listener) {
      // An app may subscribe one function twice.
      const own = () => listener();
      listeners = listeners.concat(own);
      return () => {
        listeners = listeners.filter((each) => each !== own);
      };
    },
    signIn() {
      apply(machine.signIn);
      return running.ended;
    },
    cancel: () => apply(machine.cancel),
    signOut() {
      apply(machine.signOut);
      return signingOut;
    },
    getToken,
    getTokens: () => read().then(() => state.tokens),
  };
}

/** Callers at the same time share one run. */
function singleFlight(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  const end = () => {
    running = undefined;
  };
  return () => {
    if (!running) {
      running = run();
      running.then(end, end);
    }
    return running;
  };
}
