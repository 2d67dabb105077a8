/** The SDK's logic over a network that a test writes down, by the fake clock. */
import { createCall } from '../../client/src/ask.ts';
import type { Failure } from '../../client/src/errors.ts';
import type { Call, Platform, RequestOptions } from '../../client/src/platform.ts';
import type { Prompt } from '../../client/src/session.ts';
import { type SignInOptions, signIn } from '../../client/src/sign-in.ts';
import type { Tokens } from '../../client/src/tokens.ts';
import { createFakeClock } from '../kit/clock.ts';

export type Answer = readonly [
  status: number,
  text?: string,
  retryAfter?: string | null,
  location?: string,
];

export const RELAY = 'https://relay.test';
export const LINK = `${RELAY}/auth/mal?state=s`;
export const STARTED: Answer = [
  200,
  JSON.stringify({ session: 'secret', url: LINK, expiresIn: 600 }),
];
export const OFFER = (extensions: readonly string[]): Answer => [
  200,
  JSON.stringify({ services: [{ service: 'mal', name: 'MAL', blind: 'no' }], extensions }),
];
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
) {
  const clock = createFakeClock(startMs);
  const asked: Asked[] = [];
  const used = new Map<string, number>();
  let randomness = 0;

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
    random: () => randomness,
  };
  return {
    platform,
    clock,
    asked,
    asksOf: (part: string) => asked.filter(({ url }) => url.includes(part)),
    setRandom(value: number) {
      randomness = value;
    },
  };
}

export type Network = ReturnType<typeof createNetwork>;

/** A sign-in in progress, and what has come of it so far. */
export function begin(
  network: Network,
  options: Partial<SignInOptions> = {},
  transport: RequestOptions = {},
) {
  const call: Call = createCall(network.platform, transport);
  const seen = {
    prompts: [] as Prompt[],
    opened: 0,
    ends: [] as { failure: unknown; tokens?: Tokens }[],
  };
  signIn(
    call,
    {
      relay: `${RELAY}/`,
      service: 'mal',
      save() {},
      onPrompt: (prompt) => seen.prompts.push(prompt),
      onOpened: () => {
        seen.opened += 1;
      },
      ...options,
    },
    (failure, tokens) => seen.ends.push({ failure, ...(tokens && { tokens }) }),
  );
  return { ...seen, seen, call };
}

export const codeOf = (failure: unknown) => (failure as Failure).code;
