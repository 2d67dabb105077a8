/** Providers that compress their responses although the relay asks them not to, on Bun and on Node. */
import { describe, expect, test } from 'bun:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { pollOnce, start } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { serveUpstream } from '../kit/provider.ts';
import { RUNTIMES, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { bringCode } from '../kit/user.ts';

const accessToken = plantSecret('a-token-that-was-compressed');
const json = JSON.stringify({ access_token: accessToken });
const BOMB_BYTES = 300_000_000;

/** Encoding and body, by what the code begins with; and as what the exchange fails, if it does. */
const BODIES: Readonly<Record<string, readonly [string, Uint8Array, failure?: string]>> = {
  gzip: ['gzip', gzipSync(json)],
  upper: ['GZIP', gzipSync(json)],
  deflate: ['deflate', deflateSync(json)],
  charset: ['gzip, UTF-8', gzipSync(json)],
  listed: ['identity, gzip', gzipSync(json)],
  twice: ['gzip, br', brotliCompressSync(gzipSync(json))],
  brotli: ['br', brotliCompressSync(json)],
  identity: ['identity', Buffer.from(json)],
  often: [
    'gzip,'.repeat(6),
    Array.from('123456').reduce((body) => gzipSync(body), Buffer.from(json)),
    'not_json',
  ],
  long: ['gzip', gzipSync(json + ' '.repeat(70_000)), 'too_large'],
  damaged: ['gzip', Buffer.from('what is no gzip'), 'not_json'],
  garbled: ['br', Buffer.from('what is no brotli'), 'not_json'],
  cut: ['gzip', gzipSync(json).subarray(0, 30), 'not_json'],
  unknown: ['constructor', Buffer.from('what nobody can decode'), 'not_json'],
};
const KINDS = Object.entries(BODIES);
const BOMBS: typeof BODIES = {
  bomb: ['gzip', gzipSync(new Uint8Array(BOMB_BYTES))],
  deflateBomb: ['deflate', deflateSync(new Uint8Array(BOMB_BYTES))],
};

const provider = serveUpstream(() => {
  const code = new URLSearchParams(provider.requests.at(-1)?.body).get('code') ?? '';
  const [encoding, body] = { ...BODIES, ...BOMBS }[code.split('-')[0] ?? ''] ?? [];
  return new Response(body as BodyInit, { headers: { 'Content-Encoding': encoding ?? '' } });
});

const onLinux = test.if(has('Linux', 'a response that would be 300 MB takes no memory'));

describe.each(RUNTIMES)('on %s', async (_, command) => {
  const relay = await startRelay({ START_BURST: '100', MAL_TOKEN_URL: provider.url }, { command });

  async function signIn(kind: string) {
    const failures = relay.events('exchange_failed').length;
    const { session, state } = await start(relay);
    const { status } = await bringCode(relay, state, plantSecret(`${kind}-${state}`));
    const result = await (await pollOnce(relay, session)).json();
    const log = await relay.waitForEvents('exchange_failed', failures + (status === 200 ? 0 : 1));
    return { status, result, logged: log.at(-1) };
  }

  test.each(KINDS)('%s: tokens, or a hint that blames no setting', async (kind, [, , failure]) => {
    const { status, result, logged } = await signIn(kind);
    if (failure === undefined) {
      expect(result).toEqual({ accessToken });
      expect(provider.requests.at(-1)?.headers.get('accept-encoding')).toBe('identity');
    } else {
      expect([status, result]).toEqual([502, { error: 'exchange_failed' }]);
      const hint = expect.not.stringMatching(/MAL_|network/);
      expect(logged).toMatchObject({ reason: failure, hint });
    }
  });

  onLinux('what would be 300 MB is read up to the limit', async () => {
    await signIn('long');
    const before = relay.residentBytes();
    for (const kind of Object.keys(BOMBS)) {
      expect((await signIn(kind)).logged).toMatchObject({ reason: 'too_large' });
    }
    expect(relay.residentBytes() - before).toBeLessThan(BOMB_BYTES / 10);
  });
});
