/** The cookie of CONFIRM=always: only the browser that continued finishes a sign-in. RFC 9700 §4.7.1. */
import { describe, expect, test } from 'bun:test';
import { signInIdOf } from '../../src/sign-ins/secrets.ts';
import { isPending } from '../kit/clock.ts';
import { poll, start, startWithCode } from '../kit/device.ts';
import { findUndocumented } from '../kit/log-document.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { callback, cookiesOf, createUser, decide, textOf } from '../kit/user.ts';

const CALLBACK = '/auth/mal/callback';
const WRONG = '/L/BCDF-GHJK';

const NO_COOKIE = { name: '', value: '' };

describe('CONFIRM=always', () => {
  test('a browser keeps the cookies of its last 32 sign-ins', async () => {
    const service = createTestService({ confirm: 'always', startBurst: 40 });
    const user = createUser(service);
    const states: string[] = [];
    for (let count = 0; count < 34; count += 1) {
      const { url, state } = await start(service);
      await user.decide(url, 'continue');
      // Pressed once more it counts once.
      await user.decide(url, 'continue');
      states.push(state);
    }
    const statuses = await Promise.all(
      states.map(async (state) => (await user.comeBack(state)).status),
    );
    expect(statuses).toEqual([404, 404, ...Array.from({ length: 32 }, () => 200)]);
  });

  test('progress=1 reports the link when the user continues, not before', async () => {
    const service = createTestService({ confirm: 'always' });
    const { session, url } = await start(service);
    const polled = poll(service, `${session}&progress=1`);
    await service.ask(url);
    expect(await isPending(polled)).toBe(true);
    await decide(service, url);
    expect(await (await polled).json()).toEqual({ progress: 'opened' });
  });

  test.each([
    ['with the browser state in its name', (state: string) => `__Host-continued-${state}=1`],
    ['of another scheme', (_: string, name: string) => `${name.replace('__Host-', '')}=1`],
    // Browsers accept these from any host of the same site.
    ['with a lesser prefix', (_: string, name: string) => `${name.replace('Host', 'Secure')}=1`],
    ['with its prefix in lower case', (_: string, name: string) => `${name.replace('H', 'h')}=1`],
    ['with a space that is none in HTTP', (_: string, name: string) => `\u00a0${name}=1`],
    ['without its value', (_: string, name: string) => `${name}=`],
  ])('a cookie %s does not count, and the right one does at any instance', async (_, write) => {
    const service = createTestService({ confirm: 'always' });
    const other = createTestService({ confirm: 'always', sharing: service });
    const { url, state } = await start(service);
    const [{ name, value } = NO_COOKIE] = cookiesOf(await decide(service, url));
    const comeBack = (cookie: string) =>
      other.ask(`${CALLBACK}?state=${state}&code=c`, { headers: { Cookie: cookie } });
    const page = await comeBack(write(state, name));
    expect(page.status).toBe(404);
    expect(await textOf(page)).toContain(
      'Continue was pressed in another browser, or this one blocks cookies.',
    );
    expect((await comeBack(`${name}=${value}`)).status).toBe(200);
  });

  test.each([
    ['https://relay.test', '', true],
    ['HTTPS://Relay.test', '', true],
    ['https://relay.test/auth', '/auth', true],
    ['HTTP://localhost:8080', '', false],
  ])('at %s the cookie is for this host alone', async (baseUrl, basePath, isSecure) => {
    const service = createTestService({ confirm: 'always', baseUrl });
    const { url, state, session } = await start(service, 'mal', {}, basePath);
    const [cookie, ...others] = cookiesOf(await decide(service, url));
    expect(others).toEqual([]);
    const secure = isSecure ? ['Secure'] : [];
    expect(cookie?.attributes).toEqual(
      ['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', ...secure].sort(),
    );
    expect(cookie?.name).toMatch(
      isSecure ? /^__Host-continued-[\w-]{43}$/ : /^continued-[\w-]{43}$/,
    );
    expect(cookie?.value).toBe('1');
    // Nothing of the sign-in.
    for (const secret of [state, session]) expect(cookie?.name).not.toContain(secret);
  });

  test('in another browser the page says where to continue, and the log why', async () => {
    const service = createTestService({ confirm: 'always' });
    const log = captureLog();
    const { url, state } = await start(service);
    const user = createUser(service);
    await user.decide(url, 'continue');
    const page = await (await callback(service, state)).text();
    expect(page).toContain('or allow cookies and open the link from your device in this one.');
    expect(page).toContain('<form method="post" action="/link">');
    expect(page).toContain(signInIdOf(state));
    const line = { level: 'info', service: 'mal', signIn: signInIdOf(state) };
    const seen = [{ ...line, hint: expect.stringContaining('CONFIRM=always') }];
    expect(log.named('callback_without_cookie')).toMatchObject(seen);
    await user.comeBack(state);
    for (const stale of [state, 'A'.repeat(24)]) {
      const answer = await callback(service, stale);
      expect(answer.status).toBe(404);
      expect(await textOf(answer)).toContain('This sign-in link is no longer valid.');
    }
    expect(log.named('callback_without_cookie')).toHaveLength(1);
    expect(log.events.flatMap(findUndocumented)).toEqual([]);
  });
});

test('CONFIRM=code: any browser may finish, and no page and no decision sets a cookie', async () => {
  const service = createTestService({ confirm: 'code' });
  const { state, link } = await startWithCode(service);
  for (const path of ['/', '/link', link, WRONG, '/auth/done']) {
    expect(cookiesOf(await service.ask(path))).toEqual([]);
  }
  expect(cookiesOf(await decide(service, link))).toEqual([]);
  expect((await callback(service, state)).status).toBe(200);
  const { link: other } = await startWithCode(service);
  expect(cookiesOf(await decide(service, other, 'decline'))).toEqual([]);
});

/** The Response of @hono/node-server hands out the very Headers object that it was given. */
class SharingResponse extends Response {
  constructor(body?: BodyInit | null, init?: ResponseInit) {
    super(body, init);
    const headers = init?.headers;
    if (headers instanceof Headers) Object.defineProperty(this, 'headers', { value: headers });
  }
}

test('only Continue sets the cookie, though the runtime shares Headers', async () => {
  const original = globalThis.Response;
  Object.assign(globalThis, { Response: SharingResponse });
  try {
    const service = createTestService({ confirm: 'always' });
    const { link, url } = await startWithCode(service);
    expect(cookiesOf(await decide(service, link))).toHaveLength(1);
    for (const path of [url, '/link', WRONG, '/auth/result?session=x', '/auth/done']) {
      expect(cookiesOf(await service.ask(path))).toEqual([]);
    }
    expect(cookiesOf(await decide(service, url, 'decline'))).toEqual([]);
  } finally {
    Object.assign(globalThis, { Response: original });
  }
});
