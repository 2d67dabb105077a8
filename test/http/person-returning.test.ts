/** A person who taps twice, or comes back: the code is used once, and not lost to whoever used it. */
import { describe, expect, test } from 'bun:test';
import { createTestService } from '../support/test-service.ts';

/** A device with a code, and the page that asks about it in one browser. */
async function openQuestion() {
  const service = createTestService();
  const body = JSON.stringify({ service: 'mal', code: true });
  const answer = await service.send('/auth/start', { method: 'POST', body });
  const { link, session } = (await answer.json()) as { link: string; session: string };
  const { pathname } = new URL(link);
  const question = await service.send(pathname);
  const cookie = question.headers.get('set-cookie') ?? '';
  const browser = { Cookie: cookie.split(';')[0] ?? '' };
  const decide = (choice: string, headers: Record<string, string> = browser) =>
    service.send(pathname, {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'same-origin', ...headers },
      body: new URLSearchParams({ choice }),
    });
  return { ...service, pathname, session, cookie, browser, decide };
}

describe('in the browser that was asked', () => {
  test('Continue may be tapped again, and leads to the same place', async () => {
    const { decide } = await openQuestion();
    const first = await decide('continue');
    const second = await decide('continue');
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
  });

  test('coming back from the provider shows the question again, and both answers work', async () => {
    const { send, decide, pathname, browser, poll, session } = await openQuestion();
    await decide('continue');
    expect((await send(pathname, { headers: browser })).status).toBe(200);
    expect((await decide('decline')).status).toBe(200);
    expect(await (await poll(session)).json()).toEqual({ error: 'access_denied' });
  });

  test('once the sign-in is over there is nothing to come back to', async () => {
    const { send, decide, pathname, browser } = await openQuestion();
    await decide('decline');
    expect((await send(pathname, { headers: browser })).status).toBe(404);
    expect((await decide('continue')).status).toBe(404);
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
  const { cookie, pathname } = await openQuestion();
  const attributes = cookie.split('; ').slice(1).sort();
  expect(attributes).toEqual(
    ['HttpOnly', 'Max-Age=600', `Path=${pathname}`, 'SameSite=Lax', 'Secure'].sort(),
  );
});

test('a page that asks nothing leaves no cookie', async () => {
  const { send } = createTestService();
  for (const path of ['/', '/link', '/L/BCDF-GHJK', '/auth/done']) {
    expect((await send(path)).headers.get('set-cookie')).toBeNull();
  }
});
