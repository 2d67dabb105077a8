/** A person who taps twice, or comes back: the code is used once, and not lost to whoever used it. */
import { describe, expect, test } from 'bun:test';
import { createTestService } from '../support/test-service.ts';

/** A device with a code, and what can be decided about it. */
async function openQuestion() {
  const service = createTestService();
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

describe('for everybody else the code is used up', () => {
  test.each([
    ['without the cookie', {}],
    ['with one that is made up', { Cookie: 'link=AAAAAAAAAAAAAAAAAAAAAAAA' }],
    ['with one that is none', { Cookie: 'link=<script>' }],
  ])('%s', async (_, headers) => {
    const { send, decide, pathname } = await openQuestion();
    await decide('continue');
    expect((await send(pathname, { headers })).status).toBe(404);
    expect((await decide('continue', headers)).status).toBe(404);
  });
});

test('no script reads the cookie, it goes to this page alone, over TLS, and for no longer than the session', async () => {
  const { decide, pathname } = await openQuestion();
  const cookie = (await decide('continue')).headers.get('set-cookie') ?? '';
  const attributes = cookie.split('; ').slice(1).sort();
  expect(attributes).toEqual(
    ['HttpOnly', 'Max-Age=600', `Path=${pathname}`, 'SameSite=Lax', 'Secure'].sort(),
  );
});

test('a page leaves no cookie, nor does whoever declines', async () => {
  const { send, decide, pathname } = await openQuestion();
  for (const path of ['/', '/link', pathname, '/L/BCDF-GHJK', '/auth/done']) {
    expect((await send(path)).headers.get('set-cookie')).toBeNull();
  }
  expect((await decide('decline')).headers.get('set-cookie')).toBeNull();
});
