/** A person who taps twice, or comes back: the code is used once, and not lost to whoever used it. */
import { describe, expect, test } from 'bun:test';
import { createTestService } from '../support/test-service.ts';

/** A device with a code, and what can be decided about it. */
async function openQuestion(overrides = {}) {
  const service = createTestService(overrides);
  const body = JSON.stringify({ service: 'mal', code: true });
  const answer = await service.send('/auth/start', { method: 'POST', body });
  const { link, session } = (await answer.json()) as { link: string; session: string };
  const { pathname } = new URL(link);
  const decide = (choice: string, headers: Record<string, string> = {}) =>
    service.send(pathname, {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'same-origin', ...headers },
      body: new URLSearchParams({ choice }),
    });
  return { ...service, pathname, session, decide };
}

/** As a browser does with what an answer leaves with it. */
function cookieOf({ headers }: Response): Record<string, string> {
  return { Cookie: (headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

describe('in the browser that continued', () => {
  test('Continue may be tapped again, and leads to the same place', async () => {
    const { decide } = await openQuestion();
    const first = await decide('continue');
    const second = await decide('continue', cookieOf(first));
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
  });

  test('coming back from the provider shows the question again, and both answers work', async () => {
    const { send, decide, pathname, poll, session } = await openQuestion();
    const headers = cookieOf(await decide('continue'));
    expect((await send(pathname, { headers })).status).toBe(200);
    expect((await decide('decline', headers)).status).toBe(200);
    expect(await (await poll(session)).json()).toEqual({ error: 'access_denied' });
  });

  test('once the sign-in is over there is nothing to come back to', async () => {
    const { send, decide, pathname } = await openQuestion();
    const headers = cookieOf(await decide('continue'));
    await decide('decline', headers);
    expect((await send(pathname, { headers })).status).toBe(404);
    expect((await decide('continue', headers)).status).toBe(404);
  });
});

function readCookie({ headers }: Response) {
  const [pair = '', ...attributes] = (headers.get('set-cookie') ?? '').split('; ');
  return { name: pair.split('=')[0] ?? '', attributes: attributes.sort() };
}

describe('for everybody else the code is used up', () => {
  test('without the cookie', async () => {
    const { send, decide, pathname } = await openQuestion();
    await decide('continue');
    expect((await send(pathname)).status).toBe(404);
    expect((await decide('continue')).status).toBe(404);
  });

  test.each([
    ['without a value', ''],
    ['with one that is made up', 'AAAAAAAAAAAAAAAAAAAAAAAA'],
    ['with one that is none', '<script>'],
  ])('%s', async (_, value) => {
    const { send, decide, pathname } = await openQuestion();
    const { name } = readCookie(await decide('continue'));
    const headers = { Cookie: `${name}=${value}` };
    expect((await send(pathname, { headers })).status).toBe(404);
    expect((await decide('continue', headers)).status).toBe(404);
  });
});

test('the cookie of one code leads nowhere at another', async () => {
  const { send, decide } = await openQuestion();
  const headers = cookieOf(await decide('continue'));
  expect((await send('/L/BCDF-GHJK', { headers })).status).toBe(404);
});

test('a page that a cookie led to shows no code: the cookie may be made up', async () => {
  const { send, decide, pathname } = await openQuestion();
  const headers = cookieOf(await decide('continue'));
  const page = await (await send(pathname, { headers })).text();
  expect(page).toContain('value="continue"');
  expect(page).not.toContain(pathname.slice('/L/'.length));
});

test('no script reads the cookie, it goes to this page alone, over TLS, and for no longer than the session', async () => {
  const { decide, pathname } = await openQuestion();
  const { name, attributes } = readCookie(await decide('continue'));
  expect(name).toStartWith('__Secure-');
  expect(attributes).toEqual(
    ['HttpOnly', 'Max-Age=600', `Path=${pathname}`, 'SameSite=Lax', 'Secure'].sort(),
  );
});

test.each([
  ['HTTPS://Relay.test', true],
  ['https://relay.test', true],
  ['http://localhost:8080', false],
  ['HTTP://localhost:8080', false],
])('with the address %s it is Secure: %p', async (baseUrl, isSecure) => {
  const { decide } = await openQuestion({ baseUrl });
  const { name, attributes } = readCookie(await decide('continue'));
  expect([name.startsWith('__Secure-'), attributes.includes('Secure')]).toEqual([
    isSecure,
    isSecure,
  ]);
});

test('a page leaves no cookie, nor does whoever declines', async () => {
  const { send, decide, pathname } = await openQuestion();
  for (const path of ['/', '/link', pathname, '/L/BCDF-GHJK', '/auth/done']) {
    expect((await send(path)).headers.get('set-cookie')).toBeNull();
  }
  expect((await decide('decline')).headers.get('set-cookie')).toBeNull();
});
