/** `progress=1`: a poll reports once that the user has opened the link. docs/protocol.md §4.5. */
import { describe, expect, test } from 'bun:test';
import { isPending, runReady } from '../kit/clock.ts';
import { poll, start } from '../kit/device.ts';
import { createTestService, StoreUnavailable, type TestService } from '../kit/service.ts';
import { callback, decide, deny } from '../kit/user.ts';

const OPENED = { progress: 'opened' };
const DENIED = { error: 'access_denied' };

const pollProgress = (service: TestService, session: string, more = '', init?: RequestInit) =>
  service.ask(`/auth/result?session=${session}&progress=1${more}`, init);

const open = (service: TestService, state: string, name = 'mal') =>
  service.ask(`/auth/${name}?state=${state}`);

/** Status and body, to be compared with another answer's. */
async function answerOf(response: Response) {
  return { status: response.status, body: await response.text() };
}

test('it is reported once for each session, however often the link is opened and whichever device polls', async () => {
  const service = createTestService();
  const { session, state } = await start(service);
  const polls = [1, 2, 3].map(() => pollProgress(service, session));
  await runReady();
  for (const _ of [1, 2]) await open(service, state);
  await runReady();
  await deny(service, state);
  const answers = await Promise.all(polls.map(async (each) => answerOf(await each)));
  const opened = { status: 200, body: JSON.stringify(OPENED) };
  const gone = { status: 410, body: 'Session not found\n' };
  const denied = { status: 200, body: JSON.stringify(DENIED) };
  expect(new Set(answers)).toEqual(new Set([opened, denied, gone]));
});

describe('opened is when the browser is redirected to the provider:', () => {
  test('with CONFIRM=always not when the link is, but when the user continues', async () => {
    const service = createTestService({ confirm: 'always' });
    const { session, url } = await start(service);
    const polled = pollProgress(service, session);
    await service.ask(url);
    expect(await isPending(polled)).toBe(true);
    await decide(service, url);
    expect(await (await polled).json()).toEqual(OPENED);
  });

  test.each([
    ['of another provider', (state: string) => `/auth/anilist?state=${state}`],
    ['of an unknown provider', (state: string) => `/auth/none?state=${state}`],
    ['by HEAD', (state: string) => `/auth/mal?state=${state}`],
  ])('not a link %s', async (how, pathOf) => {
    const service = createTestService();
    const { session, state } = await start(service);
    await service.ask(pathOf(state), { method: how === 'by HEAD' ? 'HEAD' : 'GET' });
    expect((await pollProgress(service, session, '&wait=0')).status).toBe(204);
  });
});

describe('a result comes first:', () => {
  test('while the code is exchanged, it is reported, and the poll claims nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const service = createTestService({}, { fetch: () => promise });
    const { session, state } = await start(service);
    await open(service, state);
    const callingBack = callback(service, state);
    await runReady();
    expect(await (await pollProgress(service, session)).json()).toEqual(OPENED);
    resolve(Response.json({ access_token: 'late' }));
    await callingBack;
    expect(await (await poll(service, session)).json()).toMatchObject({ accessToken: 'late' });
  });

  test('one that arrives while the store is asked about the opening is delivered by the same poll', async () => {
    let meanwhile: (() => unknown) | undefined;
    const service = createTestService(
      {},
      { beforeVerb: (verb) => (verb === 'takeOpenedNotice' ? meanwhile?.() : undefined) },
    );
    const { session, state } = await start(service);
    meanwhile = () => {
      meanwhile = undefined;
      return deny(service, state);
    };
    expect(await (await pollProgress(service, session)).json()).toEqual(DENIED);
  });
});

test('an opening just after the store has answered that there was none is reported by the same poll', async () => {
  const other = createTestService();
  let justAfter: (() => unknown) | undefined;
  const store = {
    ...other.store,
    async takeOpenedNotice(pollSecret: string) {
      const isReported = await other.store.takeOpenedNotice(pollSecret);
      await justAfter?.();
      return isReported;
    },
  };
  const service = createTestService({}, { sharing: { store, clock: other.clock } });
  const { session, state } = await start(service);
  justAfter = () => {
    justAfter = undefined;
    return open(other, state);
  };
  expect(await (await pollProgress(service, session)).json()).toEqual(OPENED);
});

describe('a report that is lost changes nothing else:', () => {
  test('a store that fails is not asked again, and the result is delivered', async () => {
    let asked = 0;
    const service = createTestService(
      {},
      {
        beforeVerb(verb) {
          if (verb !== 'takeOpenedNotice') return;
          asked += 1;
          throw new StoreUnavailable();
        },
      },
    );
    const { session, state } = await start(service);
    const polled = pollProgress(service, session);
    await runReady();
    expect(asked).toBe(1);
    await deny(service, state);
    expect(await (await polled).json()).toEqual(DENIED);
    expect((await pollProgress(service, session, '&wait=0')).status).toBe(410);
  });

  test('a device that has disconnected does not use up the report', async () => {
    const service = createTestService();
    const { session, state } = await start(service);
    const device = new AbortController();
    const left = pollProgress(service, session, '', { signal: device.signal });
    await runReady();
    device.abort();
    expect((await left).status).toBe(204);
    await open(service, state);
    const gone = pollProgress(service, session, '', { signal: AbortSignal.abort() });
    expect((await gone).status).toBe(204);
    expect(await (await pollProgress(service, session)).json()).toEqual(OPENED);
  });
});

test('what is refused without progress=1 is refused in the same way with it', async () => {
  const service = createTestService();
  const { session } = await start(service);
  const unknown = 'A'.repeat(24);
  for (const query of [`session=${session}&wait=51`, 'session=x', `session=${unknown}`]) {
    const [plain, asking] = await Promise.all(
      ['', '&progress=1'].map((more) => service.ask(`/auth/result?${query}${more}`)),
    );
    if (plain === undefined || asking === undefined) return expect.unreachable();
    expect(await answerOf(asking)).toEqual(await answerOf(plain));
    expect(Object.fromEntries(asking.headers)).toEqual(Object.fromEntries(plain.headers));
  }
});
