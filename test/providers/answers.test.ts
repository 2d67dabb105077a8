/** What providers really answer, and what the device, the user and the operator get. The table is answers.md. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { PROFILES } from '../../src/providers/profiles.ts';
import { pollOnce, refresh, start } from '../kit/device.ts';

import { ANILIST, captureLog, createTestService } from '../kit/service.ts';
import { callback, textOf } from '../kit/user.ts';

/** A row of answers.md, which says what the columns are. */
type ProviderAnswer = ReturnType<typeof readRow>[1];

function readRow(line: string) {
  const [, row = '', provider = '', asked = '', status, headers = '', body, gets = '', hint = ''] =
    line.split('|').map((cell) => cell.trim());
  const [name = '', value = ''] = headers.split(': ');
  return [
    row,
    {
      provider,
      asked,
      status: Number(status),
      headers: name === '' ? {} : { [name]: value },
      body: body?.slice(1, -1) ?? '',
      gets,
      hint,
    },
  ] as const;
}

const page = readFileSync(new URL('answers.md', import.meta.url), 'utf8');
const ANSWERS = new Map(page.split('|---|\n')[1]?.trim().split('\n').map(readRow));
const DEAD = ANSWERS.get('dead') as ProviderAnswer;
const CLIENT_SECRET = 'the-client/secret+of this-relay';
const FORM = new URLSearchParams({ '': CLIENT_SECRET }).toString().slice(1);
const BASIC = Buffer.from(`${ANILIST.clientId}:${FORM}`).toString('base64');

/** A provider with that profile, if there is one. */
function serviceOf(answer: ProviderAnswer) {
  const { provider: name } = answer;
  const { displayName = 'Acme', knownErrors } = PROFILES.get(name) ?? {};
  const own = {
    name,
    displayName,
    clientSecret: CLIENT_SECRET,
    ...(knownErrors && { knownErrors }),
  };
  const { status, body, headers } = answer;
  const type = { 'Content-Type': body.startsWith('<') ? 'text/html' : 'application/json' };
  const fetch = async () => new Response(body, { status, headers: { ...type, ...headers } });
  return createTestService({ providers: [{ ...ANILIST, ...own }], fetch });
}

async function refreshAt(answer: ProviderAnswer): Promise<string> {
  const form = answer.asked === 'narrower' ? { scope: 'less' } : {};
  const { status, body } = await refresh(serviceOf(answer), 'old', form, answer.provider);
  if (status === 200) return 'tokens';
  return status === 503 ? '503' : String(body.error);
}

/** What the user reads must be what the device gets. */
async function exchangeAt(answer: ProviderAnswer): Promise<string> {
  const service = serviceOf(answer);
  const { session, state } = await start(service, answer.provider);
  const page = await textOf(await callback(service, state, 'code=c', answer.provider));
  const result = await (await pollOnce(service, session)).json();
  if ('accessToken' in result) return 'tokens';
  expect(result).toEqual({ error: 'exchange_failed' });
  return page.includes('declined the sign-in') ? 'refused' : 'failed';
}

test.each([...ANSWERS])('%s: what comes of it, and the hint', async (_, answer) => {
  const log = captureLog('debug');
  const got = answer.asked === 'exchange' ? await exchangeAt(answer) : await refreshAt(answer);
  expect(got).toBe(answer.gets);
  const failed = [...log.named('exchange_failed'), ...log.named('refresh_failed')];
  expect(failed).toHaveLength(got === 'tokens' ? 0 : 1);
  expect(failed[0]?.hint ?? '').toContain(answer.hint);
});

test.each<[string, object, string | undefined]>([
  [
    'its description',
    { error_description: 'The token "a\u202eb" is\nunknown' },
    'The token  a b  is unknown',
  ],
  ['its message', { message: 'no client' }, 'no client'],
  ['at most 200 characters', { message: 'x'.repeat(300) }, 'x'.repeat(200)],
  ...[CLIENT_SECRET, encodeURIComponent(CLIENT_SECRET), FORM, BASIC].map(
    (echo): [string, object, string] => [
      'nothing with the client secret, however it was sent',
      { message: `not ${echo}` },
      'The request is incomplete or malformed',
    ],
  ),
])('of an error that may not be about the token the device gets %s', async (_, own, text) => {
  const log = captureLog('debug');
  const body = { error: 'invalid_request', ...own };
  const answer = { ...DEAD, body: JSON.stringify(body) };
  const refused = await refresh(serviceOf(answer), 'old', {}, 'acme');
  expect(refused.body).toEqual({ error: 'invalid_request', error_description: text });
  expect(log.named('refresh_failed')[0]).not.toHaveProperty('description');
  const asked = JSON.stringify({ service: 'acme', refreshToken: 'old' });
  const inText = await serviceOf(answer).ask('/refresh', { method: 'POST', body: asked });
  const passedOn = text?.startsWith('The request') ? {} : { error_description: text };
  expect(await inText.json()).toEqual({ error: 'invalid_request', ...passedOn });
});

// The fake clock begins 1,000 s after the epoch.
test.each([
  ['seconds', '120', '120'],
  ['an hour at most', '86400', '3600'],
  ['5 s if it says nothing', undefined, '5'],
  ['a date as seconds', new Date(1_600_000).toUTCString(), '600'],
  ['5 s for a date that has passed', new Date(0).toUTCString(), '5'],
])('Retry-After of a provider that limits refreshes: %s', async (_, given, passedOn) => {
  const headers = given === undefined ? {} : { 'Retry-After': given };
  const answer = { ...DEAD, status: 429, body: '{}', headers };
  const body = JSON.stringify({ service: 'acme', refreshToken: 'old' });
  const inText = await serviceOf(answer).ask('/refresh', { method: 'POST', body });
  expect([inText.status, inText.headers.get('retry-after')]).toEqual([503, passedOn]);
  const { headers: own } = await refresh(serviceOf(answer), 'old', {}, 'acme');
  expect(own.get('retry-after')).toBe(passedOn);
});

test.each<[string, BodyInit, Record<string, string>, string]>([
  ['longer than 64 KiB', `{"x":"${'x'.repeat(65_536)}"}`, {}, 'is longer than 64 KiB'],
  ['compressed, and does not say so', gzipSync('{"access_token":"a"}'), {}, 'cannot decompress'],
])('a response that is %s has a hint that blames no setting', async (_, body, headers, words) => {
  const log = captureLog();
  const service = createTestService({ fetch: async () => new Response(body, { headers }) });
  await callback(service, (await start(service)).state);
  expect(log.named('exchange_failed')[0]?.hint).toContain(words);
  expect(log.named('exchange_failed')[0]?.hint).not.toContain('MAL_');
});
