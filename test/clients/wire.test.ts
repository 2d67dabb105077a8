/**
 * Clients that cannot be run here, played by hand: what each sends and what it
 * can bear, as their source has it.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { NAMES } from '../browser/support/person.ts';
import { SIGNED_IN } from '../browser/support/relay-page.ts';
import { setStage } from '../browser/support/stage.ts';
import { type Answer, type Begun, begin, DEVICE_CODE, poll, post } from './support/by-hand.ts';
import { openLink } from './support/person.ts';

setDefaultTimeout(30_000);

const stage = await setStage();
afterAll(stage.stop);

const issuer = `${stage.relay.baseUrl}/oauth2/mal`;

async function signIn({ verification_uri_complete: link }: Begun): Promise<void> {
  expect(await openLink(stage, link, 'mal', 'agree')).toMatchObject(SIGNED_IN);
}

async function expectTokens({ status, body }: Answer): Promise<void> {
  expect(status).toBe(200);
  const { findOwner } = stage.providers.mal;
  expect(await findOwner(String(body.access_token))).toBe(NAMES.mal);
}

/** What every one of them takes for "ask again": anything else, or a challenge, ends it. */
function expectPending({ status, headers, body }: Answer): void {
  expect(body.error).toBe('authorization_pending');
  expect(status).toBe(400);
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('www-authenticate')).toBeNull();
}

test('golang.org/x/oauth2: polls at once, each time with Basic and then with the id in the body; Basic gets the tokens', async () => {
  const form = { client_id: 'tv', scope: 'a b' };
  const begun = await begin(issuer, form);
  const headers = { Authorization: `Basic ${btoa('tv:')}` };
  const withBasic = () => poll(issuer, begun, {}, { headers });
  const withBody = () => poll(issuer, begun, { client_id: 'tv' });
  for (let round = 0; round < 2; round += 1) {
    expectPending(await withBasic());
    expectPending(await withBody());
  }
  await signIn(begun);
  await expectTokens(await withBasic());
});

test.each(['decline', 'decline at the provider'] as const)(
  'golang.org/x/oauth2: reports the answer to its second request, so that says access_denied too (%s)',
  async (choice) => {
    const begun = await begin(issuer, { client_id: 'tv' });
    await openLink(stage, begun.verification_uri_complete, 'mal', choice);
    const headers = { Authorization: `Basic ${btoa('tv:')}` };
    const withBasic = await poll(issuer, begun, {}, { headers });
    const withBody = await poll(issuer, begun, { client_id: 'tv' });
    for (const { status, body } of [withBasic, withBody]) {
      expect([status, body.error]).toEqual([400, 'access_denied']);
    }
  },
);

test('AppAuth for tvOS: polls without waiting for replies; each of them gets the tokens', async () => {
  const begun = await begin(issuer, { client_id: 'tv' });
  const early = await Promise.all([poll(issuer, begun), poll(issuer, begun)]);
  early.forEach(expectPending);
  await signIn(begun);
  const late = await Promise.all(Array.from({ length: 4 }, () => poll(issuer, begun)));
  for (const answer of late) await expectTokens(answer);
});

test('oauth2 for Rust: reads unsigned integers, and polls at once', async () => {
  const begun = await begin(issuer, { client_id: 'tv' });
  expect(begun.text).toMatch(/"expires_in":\d+[,}]/);
  expect(begun.text).toMatch(/"interval":\d+[,}]/);
  expectPending(await poll(issuer, begun));
  await signIn(begun);
  const answer = await poll(issuer, begun);
  expect(answer.body.token_type).toBe('Bearer');
  expect(answer.text).toMatch(/"expires_in":\d+[,}]/);
  await expectTokens(answer);
});

test('octokit: sends JSON, and splits the scope even where there is none', async () => {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' };
  const sendJson = (path: string, body: object) =>
    post(`${issuer}/${path}`, {}, { headers, body: JSON.stringify(body) });
  const begun = (await sendJson('device_authorization', { client_id: 'tv' })).body as object;
  const { device_code: deviceCode } = begun as Begun;
  const form = { client_id: 'tv', device_code: deviceCode, grant_type: DEVICE_CODE };
  expectPending(await sendJson('token', form));
  await signIn(begun as Begun);
  const answer = await sendJson('token', form);
  expect(answer.body.scope).toBeString();
  await expectTokens(answer);
});

test("GitHub's cli/oauth: gives up at the third slow_down; four polls at once hear none, and after too many the tokens are there all the same", async () => {
  const begun = await begin(issuer, { client_id: 'tv', scope: '' });
  for (let count = 0; count < 4; count += 1) expectPending(await poll(issuer, begun));
  const hurried = await Promise.all(Array.from({ length: 8 }, () => poll(issuer, begun)));
  expect(hurried.map(({ body }) => body.error)).toContain('slow_down');
  await signIn(begun);
  await expectTokens(await poll(issuer, begun));
});

test('oauth2c: shows nothing but the complete link, and cannot do without an interval', async () => {
  const begun = await begin(issuer, { client_id: 'tv', scope: 'openid', audience: 'https://a' });
  expect(begun.interval).toBe(5);
  await signIn(begun);
  await expectTokens(await poll(issuer, begun, { client_id: 'tv' }));
});
