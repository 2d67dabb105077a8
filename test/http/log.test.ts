/** What an operator reads in the log (docs/reference.md). */

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { log as relayLog, startLog } from '../../src/log.ts';
import { runReady } from '../kit/clock.ts';
import { start, startRequest } from '../kit/device.ts';
import { findUndocumented } from '../kit/log-document.ts';
import { captureLog, createTestService, type TestService } from '../kit/service.ts';
import { callback, deny, textOf } from '../kit/user.ts';

let log = captureLog();
beforeEach(() => {
  log = captureLog();
});

afterEach(() => {
  expect(log.events.flatMap(findUndocumented)).toEqual([]);
});

describe('what every request would repeat is logged once', () => {
  test.each([
    ['of a peer that is not trusted', [], '203.0.113.9', 'forwarded_header_ignored'],
    ['that is no address', ['0.0.0.0/0'], 'unknown', 'forwarded_header_malformed'],
  ])('an X-Forwarded-For %s', async (_, trustedProxyCidrs, forwardedFor, event) => {
    const { ask } = createTestService({ trustedProxyCidrs });
    const forwarded = { ...startRequest(), headers: { 'X-Forwarded-For': forwardedFor } };
    for (let count = 0; count < 3; count += 1) await ask('/auth/start', forwarded);
    expect(log.named(event)).toMatchObject([{ level: 'warning' }]);
  });

  test('that MAX_SESSIONS is reached', async () => {
    const service = createTestService({ maxSessions: 1 });
    await start(service);
    expect(log.named('sessions_full')).toEqual([]);
    for (let count = 0; count < 3; count += 1) {
      expect((await service.ask('/auth/start', startRequest())).status).toBe(503);
    }
    const hint = expect.stringContaining('so starts get a 503: raise it, or lower START_BURST');
    expect(log.named('sessions_full')).toMatchObject([{ level: 'warning', hint }]);
  });
});

test.each(['json', 'text'] as const)(
  '%s: no control or invisible character that others wrote is in a line',
  (format) => {
    const problem = 'the issuer calls itself "\x1b]0;\x9b2J\x7f\u202Eelpmaxe\u200B"\r\n';
    const lines: string[] = [];
    startLog({ level: 'info', format, write: (line) => lines.push(line) });
    relayLog.warning('provider_not_discovered', { service: 'acme', problem, absent: undefined });
    const [line = ''] = lines;
    expect(line).toMatch(/^[ -~]+\n$/);
    const written = format === 'json' ? line : `{"problem":${/problem=(".*") /.exec(line)?.[1]}}`;
    expect(JSON.parse(written)).toMatchObject({ problem });
  },
);

describe('the end of a sign-in', () => {
  test('is logged with its provider and its outcome', async () => {
    const service = createTestService();
    await callback(service, (await start(service)).state);
    const { state } = await start(service, 'anilist');
    await callback(service, state, 'error=access_denied', 'anilist');
    expect(log.named('sign_in_finished')).toMatchObject([
      { level: 'info', service: 'mal', outcome: 'signed_in' },
      { level: 'info', service: 'anilist', outcome: 'access_denied' },
    ]);
  });

  test('names no error for a user who declined, and logs nothing for unknown links', async () => {
    const service = createTestService();
    await deny(service, (await start(service)).state);
    await callback(service, 'unknown', 'error=invalid_scope');
    expect(log.named('authorization_failed')).toEqual([]);
    expect(log.named('sign_in_finished')).toHaveLength(1);
  });

  test('has the same request id as the failure of its exchange', async () => {
    const service = createTestService({ fetch: async () => new Response('', { status: 500 }) });
    for (let count = 0; count < 2; count += 1) {
      await callback(service, (await start(service)).state);
    }
    const failed = log.named('exchange_failed');
    const reason = { level: 'warning', service: 'mal', reason: 'status', status: 500 };
    expect(failed).toMatchObject([reason, reason]);
    const ids = failed.map(({ requestId }) => requestId);
    expect(log.named('sign_in_finished')).toMatchObject(
      ids.map((requestId) => ({ outcome: 'exchange_failed', requestId })),
    );
    expect(ids[0]).toEqual(expect.any(String));
    expect(ids[0]).not.toBe(ids[1]);
  });
});

/** The errors of runtimes: Bun's has the code, Node's has it in its cause. */
const failWith = (code: string, isInCause: boolean) => async () => {
  const coded = Object.assign(new Error('a message that is never logged'), { code });
  throw isInCause ? new TypeError('fetch failed', { cause: coded }) : coded;
};

describe('a failure has a hint that names what to change', () => {
  const REDIRECT_URI = 'https://relay.test/auth/mal/callback';

  test.each([
    ['a name that is unknown', failWith('ENOTFOUND', false), 'dns', 'MAL_TOKEN_URL'],
    ['the same under Node', failWith('EAI_AGAIN', true), 'dns', 'cannot resolve the name mal.test'],
    ['nothing listens', failWith('ECONNREFUSED', false), 'refused', 'MyAnimeList may be down, or'],
    ['a certificate', failWith('DEPTH_ZERO_SELF_SIGNED_CERT', false), 'tls', 'NODE_EXTRA_CA_CERTS'],
    ['no TLS there', failWith('EPROTO', false), 'tls', 'mal.test does not speak TLS (EPROTO)'],
    [
      'an old certificate',
      failWith('CERT_HAS_EXPIRED', true),
      'tls',
      'MyAnimeList has to renew it',
    ],
    ['another name', failWith('ERR_TLS_CERT_ALTNAME_INVALID', true), 'tls', 'is for another name'],
    ['closed', failWith('ECONNRESET', true), 'closed', 'mal.test closes the connection'],
    ['no HTTP', failWith('HPE_INVALID_CONSTANT', false), 'malformed', 'is not HTTP, or has more'],
    ['anything else', failWith('E with spaces', false), 'other', 'could not be reached'],
  ])('no connection: %s', async (_, fetch, cause, words) => {
    const service = createTestService({ fetch });
    await callback(service, (await start(service)).state);
    const [failed] = log.named('exchange_failed');
    expect(failed).toMatchObject({ reason: 'unreachable', cause });
    expect(failed?.hint).toContain(words);
    expect(JSON.stringify(log.events)).not.toContain('never logged');
    expect(JSON.stringify(log.events)).not.toContain('with spaces');
  });

  test.each([
    ['error=redirect_uri_mismatch', 'redirect_uri_mismatch', `URI: ${REDIRECT_URI}`],
    ['error=invalid_scope', 'invalid_scope', 'correct MAL_SCOPE'],
    ['error=invalid_client', 'invalid_client', 'refuses MAL_CLIENT_ID'],
    ['error=unauthorized_client', 'unauthorized_client', `URI: ${REDIRECT_URI}`],
    ['error=invalid_request', 'invalid_request', REDIRECT_URI],
    ['error=server_error', 'server_error', 'an internal error'],
    ['error=own+words', 'other', `URI: ${REDIRECT_URI}; a sign-in of your own`],
    ['', 'none', 'MAL_AUTHORIZE_URL'],
    ['error=INVALID_SCOPE', 'other', 'check MAL_CLIENT_ID and MAL_SCOPE'],
    ['error=constructor', 'other', 'check MAL_CLIENT_ID and MAL_SCOPE'],
  ])(
    'a user who comes back with %p, and nothing else that the provider says',
    async (query, providerError, words) => {
      const service = createTestService();
      const { state } = await start(service);
      await callback(service, state, `${query}&error_description=own+words`);
      const [failed] = log.named('authorization_failed');
      expect(failed).toMatchObject({ level: 'warning', service: 'mal', providerError });
      expect(failed?.hint).toContain(words);
      expect(log.named('sign_in_finished')[0]?.requestId).toBe(failed?.requestId);
      expect(JSON.stringify(log.events)).not.toMatch(/own.words/);
    },
  );
});

/** Until the sweep that follows the end of every session. */
const expire = ({ clock }: TestService) => {
  for (let seconds = 0; seconds < 640; seconds += 10) clock.advance(10_000);
};

test('sign-ins that expire are logged with their stage, each with a hint', async () => {
  const service = createTestService();
  await start(service);
  const opened = await start(service, 'anilist');
  await service.ask(opened.url);
  const calledBack = await start(service);
  await service.ask(calledBack.url);
  await callback(service, calledBack.state);
  expire(service);
  await runReady();
  const [finished] = log.named('sign_in_finished');
  expect(log.named('sign_in_expired')).toMatchObject([
    { level: 'info', service: 'mal', stage: 'started' },
    { level: 'info', service: 'anilist', stage: 'opened' },
    { level: 'info', service: 'mal', stage: 'called_back', signIn: finished?.signIn },
  ]);
  expect(log.named('sign_in_expired').map(({ hint }) => hint)).toEqual([
    expect.stringContaining('nobody opened the link'),
    expect.stringContaining('https://relay.test/auth/anilist/callback'),
    expect.stringContaining('did not fetch its result'),
  ]);
});

describe('the id of a sign-in', () => {
  const ID = /^[0-9a-f]{4}-[0-9a-f]{4}$/;

  test('is in each of its lines and on its error page, at every instance', async () => {
    log = captureLog('debug');
    const fetch = async () => new Response('', { status: 500 });
    const one = createTestService({ fetch });
    const other = createTestService({ sharing: one, fetch });
    const { state, url } = await start(one);
    await other.ask(url);
    const page = await callback(other, state);
    const lines = log.events.filter(({ signIn }) => signIn !== undefined);
    expect(lines.map(({ event }) => event)).toEqual([
      'sign_in_started',
      'sign_in_opened',
      'exchange_failed',
      'sign_in_finished',
    ]);
    const [id = ''] = new Set(lines.map(({ signIn }) => String(signIn)));
    expect(new Set(lines.map(({ signIn }) => signIn)).size).toBe(1);
    expect(id).toMatch(ID);
    expect(await textOf(page)).toContain(id);
    // Later too: the link is no longer valid.
    expect(await textOf(await one.ask(url))).toContain(id);
  });

  test('is on no page of a sign-in that succeeded, and on none without a state', async () => {
    const service = createTestService();
    const { state } = await start(service);
    expect(await textOf(await callback(service, state))).not.toContain('Reference');
    expect(await textOf(await callback(service, 'no-state'))).not.toContain('Reference');
  });
});
