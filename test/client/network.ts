/** The client's logic over a network that a test writes down, by the fake clock. */
import type { SignInError } from '../../client/src/errors.ts';
import type { Prompt } from '../../client/src/link.ts';
import { lockFor } from '../../client/src/lock.ts';
import type { SessionState } from '../../client/src/machine.ts';
import type { Platform } from '../../client/src/platform.ts';
import { createCore, type SessionOptions } from '../../client/src/session.ts';
import { createMemory, type SessionStorage } from '../../client/src/storage.ts';
import type { Tokens } from '../../client/src/tokens.ts';
import { advance, createFakeClock } from '../kit/clock.ts';

export type Answer = readonly [
  status: number,
  text?: string,
  retryAfter?: string | null,
  location?: string,
];

export const RELAY = 'https://relay.test';
export const LINK = `${RELAY}/auth/mal?state=s`;
/** What a start is answered with, apart from these members. */
export const started = (members: object = {}): Answer => [
  200,
  JSON.stringify({ session: 'secret', url: LINK, expiresIn: 600, ...members }),
];
export const STARTED = started();
export const OFFER = (extensions: readonly string[], blind = 'no'): Answer => [
  200,
  JSON.stringify({ services: [{ service: 'mal', name: 'MAL', blind }], extensions }),
];
/** A platform for blind sign-ins. */
export const BLIND: Partial<Platform> = {
  challenge: async () => ({ verifier: 'v', challenge: 'c' }),
};
export const NOT_FOUND: Answer = [404, '404 page not found\n'];
export const GRANTED: Answer = [200, '{"accessToken":"a","refreshToken":"r","expiresIn":3600}'];
export const GONE: Answer = [410, 'Session not found\n'];
export const HTML = '\n<!doctype html><title>Bad gateway</title>';

interface Asked {
  readonly atMs: number;
  readonly url: string;
  readonly body: string | undefined;
}

/** Answers each request after 10 ms; undefined: never. Each address has its own list, whose last answer is repeated. */
export function createNetwork(
  answers: Readonly<Record<string, readonly (Answer | undefined)[]>>,
  startMs = 0,
  own: Partial<Platform> = {},
) {
  const clock = createFakeClock(startMs);
  const asked: Asked[] = [];
  const used = new Map<string, number>();

  function nextAnswer(url: string): Answer | undefined {
    const name = Object.keys(answers).find((part) => url.includes(part)) ?? '';
    const list = answers[name] ?? [NOT_FOUND];
    const nth = used.get(name) ?? 0;
    used.set(name, nth + 1);
    return list[Math.min(nth, list.length - 1)];
  }

  const platform: Platform = {
    send({ url, body }, _headers, receive) {
      asked.push({ atMs: clock.now(), url, body });
      const answer = nextAnswer(url);
      if (answer === undefined) return () => {};
      const [status, text = '', retryAfter = null, location] = answer;
      return clock.setTimer(10, () => receive({ status, text, retryAfter, location }));
    },
    now: clock.now,
    date: clock.now,
    later: clock.setTimer,
    random: () => 0,
    challenge: async () => undefined,
    ...own,
  };
  return {
    platform,
    clock,
    advance: (ms: number) => advance(clock, ms),
    asked,
    asksOf: (part: string) => asked.filter(({ url }) => url.includes(part)),
  };
}

export type Network = ReturnType<typeof createNetwork>;

/** For `open` of a session: the app's own client. */
export const OPEN = {
  authorizationUrl: 'https://p.test/a',
  tokenUrl: 'https://p.test/t',
  clientId: 'c',
};

/** Where `open` keeps its session in the storage. */
export const KEY = 'key';

export interface OpenOptions extends Partial<SessionOptions> {
  readonly items?: SessionStorage;
}

/** A session, and what it has shown and said so far. */
export function open(network: Pick<Network, 'platform'>, options: OpenOptions = {}) {
  const { items = createMemory(), ...more } = options;
  const states: SessionState[] = [];
  const prompts: Prompt[] = [];
  const session = createCore(
    network.platform,
    { relay: `${RELAY}/`, service: 'mal', ...more },
    items,
    KEY,
    lockFor(network.platform, items, KEY),
  );
  session.subscribe(() => {
    const { state } = session;
    states.push(state);
    if (state.status === 'waiting' && state.prompt !== prompts.at(-1)) prompts.push(state.prompt);
  });
  const stored = (): Tokens | undefined =>
    JSON.parse((items.getItem(KEY) as string | undefined) ?? 'null') ?? undefined;
  return { session, states, prompts, items, stored };
}

/** A sign-in in progress, and its end. */
export function begin(network: Pick<Network, 'platform'>, options: OpenOptions = {}) {
  const opened = open(network, options);
  const ends: { readonly failure?: unknown; readonly tokens?: Tokens | undefined }[] = [];
  opened.session.signIn().then(
    (isSignedIn) => ends.push(isSignedIn ? { tokens: opened.stored() } : {}),
    (failure) => ends.push({ failure }),
  );
  return { ...opened, ends };
}

interface SignInOptions extends OpenOptions {
  readonly startMs?: number;
  readonly platform?: Partial<Platform>;
}

/** A sign-in at a relay that starts one and answers so, after this time. */
export async function signIn(
  ms: number,
  answers: Parameters<typeof createNetwork>[0],
  { startMs, platform, ...options }: SignInOptions = {},
) {
  const network = createNetwork({ '/auth/start': [STARTED], ...answers }, startMs, platform);
  const begun = begin(network, options);
  await network.advance(ms);
  return { network, ...begun };
}

export const codeOf = (failure: unknown) => (failure as SignInError).code;
