/** The hook of the SDK in React, at a real relay. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { createElement, StrictMode } from 'react';
import { create, type ReactTestRenderer } from 'react-test-renderer';
import { SignInError, type Tokens } from '../../client/src/index.ts';
import { type UseSignIn, type UseSignInOptions, useSignIn } from '../../client/src/react.ts';
import { startTokenEndpoint, type TokenEndpoint, tokensFor } from '../kit/provider.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

let provider: TokenEndpoint;
let relay: RelayProcess;
let mounted: ReactTestRenderer[] = [];

beforeAll(async () => {
  provider = startTokenEndpoint();
  relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl, START_BURST: '1000' });
});

afterEach(() => {
  for (const renderer of mounted) renderer.unmount();
  mounted = [];
});

afterAll(async () => {
  await relay.stop();
  provider.stop();
});

/** A component that uses the hook, and how many sign-ins it has started at the relay. */
function mount(more: Partial<UseSignInOptions> = {}, isStrict = false) {
  const seen = { nth: 0, starts: 0, saved: [] as Tokens[], states: [] as UseSignIn[] };
  const options: UseSignInOptions = {
    relay: relay.baseUrl,
    service: 'mal',
    code: false,
    save: (tokens) => seen.saved.push(tokens),
    fetch(url, init) {
      // The first request of each.
      if (url.endsWith('/services')) seen.starts += 1;
      return fetch(url, init);
    },
    ...more,
  };
  const Component = ({ nth, given }: { nth: number; given: UseSignInOptions }) => {
    seen.nth = nth;
    seen.states.push(useSignIn(given));
    return null;
  };
  const draw = (nth: number, given: UseSignInOptions) => {
    const drawn = createElement(Component, { nth, given });
    return isStrict ? createElement(StrictMode, null, drawn) : drawn;
  };
  const renderer = create(draw(0, options));
  mounted.push(renderer);
  const state = () => seen.states.at(-1);
  return {
    seen,
    state,
    /** Resolves once it is rendered: React may wait for as long as the machine is busy. */
    async update(changes: Partial<UseSignInOptions>): Promise<void> {
      const nth = seen.nth + 1;
      renderer.update(draw(nth, { ...options, ...changes }));
      await pollUntil('it is rendered', () => seen.nth === nth);
    },
    unmount: () => renderer.unmount(),
    /** Resolves with the link that it shows. */
    async until(status: UseSignIn['status']): Promise<string> {
      await pollUntil(`it is ${status}`, () => state()?.status === status);
      return state()?.prompt?.link ?? '';
    },
  };
}

const comeBack = (link: string, code = makeCode()) =>
  bringCode(relay, new URL(link).searchParams.get('state') ?? '', code);
const statusOf = async (link: string) => (await relay.ask(link)).status;
const isCancelled = (link: string) =>
  pollUntil('the link is cancelled', async () => (await statusOf(link)) === 404);

test('shows the link, that it was opened, and that the tokens are saved', async () => {
  const app = mount();
  const link = await app.until('waiting');
  expect(app.seen.states[0]).toMatchObject({
    status: 'starting',
    prompt: undefined,
    secondsLeft: 0,
  });
  expect(app.state()?.secondsLeft).toBeGreaterThan(0);
  await relay.ask(link);
  await app.until('opened');
  const code = makeCode();
  await comeBack(link, code);
  await app.until('done');
  expect(app.seen.saved).toEqual([tokensFor(code)]);
  expect(app.state()).toMatchObject({ prompt: undefined, error: undefined, secondsLeft: 0 });
  // Too late.
  const drawn = app.seen.states.length;
  app.state()?.cancel();
  await app.update({});
  await pollUntil('it is drawn again', () => app.seen.states.length > drawn);
  expect(app.state()?.status).toBe('done');
});

test('counts down', async () => {
  const app = mount();
  await app.until('waiting');
  const before = app.state()?.secondsLeft ?? 0;
  await pollUntil('it counts', () => Number(app.state()?.secondsLeft) < before);
});

test('starts one session in StrictMode, which mounts twice', async () => {
  const app = mount({}, true);
  const link = await app.until('waiting');
  await comeBack(link);
  await app.until('done');
  expect([app.seen.starts, app.seen.saved.length]).toEqual([1, 1]);
});

test('cancels when it is unmounted, and draws nothing more', async () => {
  const app = mount();
  const link = await app.until('waiting');
  const drawn = app.seen.states.length;
  app.unmount();
  await isCancelled(link);
  expect(app.seen.states.length).toBe(drawn);
});

test('cancels for the user, and starts over with a new link', async () => {
  const app = mount();
  const first = await app.until('waiting');
  app.state()?.cancel();
  await app.until('cancelled');
  expect(app.state()?.prompt).toBeUndefined();
  await isCancelled(first);
  app.state()?.restart();
  const second = await app.until('waiting');
  expect([second === first, app.seen.starts]).toEqual([false, 2]);
});

test('starts over for another service, and not for new functions', async () => {
  const app = mount();
  const first = await app.until('waiting');
  const saved: Tokens[] = [];
  await app.update({ save: (tokens) => saved.push(tokens), device: 'other' });
  expect([app.state()?.prompt?.link, app.seen.starts]).toEqual([first, 1]);
  await comeBack(first);
  await app.until('done');
  // The newest function was called.
  expect([saved.length, app.seen.saved.length]).toEqual([1, 0]);
  await app.update({ service: 'none' });
  await app.until('failed');
  expect(app.state()?.error).toMatchObject({ code: 'refused' });
});

test('says what failed, and starts over', async () => {
  const app = mount();
  const link = await app.until('waiting');
  const state = new URL(link).searchParams.get('state');
  await relay.ask(`/auth/mal/callback?state=${state}&error=access_denied`);
  await app.until('failed');
  expect(app.state()?.error).toBeInstanceOf(SignInError);
  expect(app.state()).toMatchObject({
    error: { show: 'Sign-in was declined.' },
    prompt: undefined,
  });
  app.state()?.restart();
  await app.until('waiting');
  expect(app.state()?.error).toBeUndefined();
});

test('says what a function of the app has thrown', async () => {
  const pending = {
    load() {
      throw 'no disk';
    },
    save() {},
  };
  const app = mount({ pending });
  await app.until('failed');
  expect(app.state()?.error?.message).toBe('no disk');
});
