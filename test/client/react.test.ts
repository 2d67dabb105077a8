/** The hook of the SDK in React, at a real relay. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { createElement, StrictMode, useEffect } from 'react';
import { create, type ReactTestRenderer } from 'react-test-renderer';
import {
  createSession,
  type SessionOptions,
  SignInError,
  type SignInErrorCode,
} from '../../client/src/index.ts';
import { type UsedSession, useSession } from '../../client/src/react.ts';
import { createMemory } from '../../client/src/storage.ts';
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

/** A component that signs in while it is mounted, as an app does. */
function mount(more: Partial<SessionOptions> = {}, isStrict = false) {
  const seen = { starts: 0, states: [] as UsedSession[] };
  const session = createSession({
    relay: relay.baseUrl,
    service: 'mal',
    code: false,
    storage: createMemory(),
    fetch(url, init) {
      if (url.endsWith('/auth/start')) seen.starts += 1;
      return fetch(url, init);
    },
    ...more,
  });
  const Component = () => {
    useEffect(() => {
      void session.signIn();
      return session.cancel;
    }, []);
    seen.states.push(useSession(session));
    return null;
  };
  const drawn = createElement(Component);
  const renderer = create(isStrict ? createElement(StrictMode, null, drawn) : drawn);
  mounted.push(renderer);
  const state = () => seen.states.at(-1);
  const linkOf = (shown: UsedSession | undefined) =>
    shown?.status === 'waiting' || shown?.status === 'opened' ? shown.prompt.link : '';
  return {
    seen,
    session,
    state,
    unmount: () => renderer.unmount(),
    /** Resolves with the link that it shows. */
    async until(status: UsedSession['status']): Promise<string> {
      await pollUntil(`it is ${status}`, () => state()?.status === status);
      return linkOf(state());
    },
  };
}

const comeBack = (link: string, code = makeCode()) =>
  bringCode(relay, new URL(link).searchParams.get('state') ?? '', code);
const statusOf = async (link: string) => (await relay.ask(link)).status;
const isCancelled = (link: string) =>
  pollUntil('the link is cancelled', async () => (await statusOf(link)) === 404);

test('shows the link, that it was opened, and that the user is signed in', async () => {
  const app = mount();
  const link = await app.until('waiting');
  expect(app.seen.states[0]).toEqual({ status: 'signed-out', secondsLeft: 0 });
  expect(app.state()?.secondsLeft).toBeGreaterThan(0);
  await relay.ask(link);
  await app.until('opened');
  const code = makeCode();
  await comeBack(link, code);
  await app.until('signed-in');
  expect(app.state()).toEqual({ status: 'signed-in', secondsLeft: 0 });
  expect(await app.session.getToken()).toBe(tokensFor(code).accessToken);
  await app.session.signOut();
  await app.until('signed-out');
});

test('counts down', async () => {
  const app = mount();
  await app.until('waiting');
  const before = app.state()?.secondsLeft ?? 0;
  await pollUntil('it counts', () => Number(app.state()?.secondsLeft) < before);
});

test('starts one sign-in in StrictMode, which mounts twice', async () => {
  const app = mount({}, true);
  const link = await app.until('waiting');
  await comeBack(link);
  await app.until('signed-in');
  expect(app.seen.starts).toBe(1);
});

test('cancels when it is unmounted, and draws nothing more', async () => {
  const app = mount();
  const link = await app.until('waiting');
  const drawn = app.seen.states.length;
  app.unmount();
  await isCancelled(link);
  expect(app.seen.states.length).toBe(drawn);
});

test('says what failed, by a code that its type knows, and starts over', async () => {
  const app = mount();
  const link = await app.until('waiting');
  const state = new URL(link).searchParams.get('state');
  await relay.ask(`/auth/mal/callback?state=${state}&error=access_denied`);
  await app.until('failed');
  const shown = app.state();
  if (shown?.status !== 'failed') return expect.unreachable();
  const { error } = shown;
  const code: SignInErrorCode = error.code;
  expect(error).toBeInstanceOf(SignInError);
  expect([code, error.show]).toEqual(['access_denied', 'Sign-in was declined.']);
  void app.session.signIn();
  expect(await app.until('waiting')).not.toBe(link);
});
