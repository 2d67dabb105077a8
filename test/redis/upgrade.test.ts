/**
 * Relays with two versions of the record share a Redis (docs/upgrading.md). The older relay is
 * this one with a smaller RECORD_VERSION.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntilDone, start, startWithCode, type Target } from '../kit/device.ts';
import { findFreePort } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { MAIN, type RelayProcess, ROOT, startRelay } from '../kit/relay.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);

const older = mkdtempSync(join(tmpdir(), 'sign-in-relay-older-'));
const redis = await startRedis();
const provider = startTokenEndpoint();
afterAll(async () => {
  provider.stop();
  await redis.stop();
  rmSync(older, { recursive: true });
});

cpSync(`${ROOT}src`, join(older, 'src'), { recursive: true });
for (const name of ['package.json', 'tsconfig.json']) cpSync(ROOT + name, join(older, name));
symlinkSync(`${ROOT}node_modules`, join(older, 'node_modules'));
const scripts = join(older, 'src/stores/record.ts');
const source = readFileSync(scripts, 'utf8');
const changed = source.replace('RECORD_VERSION = 1;', 'RECORD_VERSION = 0;');
if (changed === source) throw new Error('RECORD_VERSION is not 1 any more');
writeFileSync(scripts, changed);

const MAINS = { older: join(older, 'src/cli/main.ts'), newer: MAIN };

const run = (version: keyof typeof MAINS, prefix: string, port: number) =>
  startRelay(
    {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      MAL_TOKEN_URL: provider.tokenUrl,
      // The same in both, as for relays behind a load balancer.
      OAUTH_BASE_URL: 'https://relay.test',
      TRUSTED_PROXY_CIDRS: '127.0.0.1',
      POLL_SECONDS: '2',
    },
    { port, command: [process.execPath, MAINS[version]] },
  );

const RETRY_MS = 50;
let users = 0;

/** For one user: sends each request to the next relay, and to the other one if that is down or answers 503, as deploy/nginx.conf does. */
function createBalancer(relays: readonly RelayProcess[]): Target {
  users += 1;
  const headers = { 'X-Forwarded-For': `10.0.0.${users}` };
  let turn = users;
  return {
    async ask(path, init) {
      for (;;) {
        turn += 1;
        const relay = relays[turn % relays.length];
        const response = await relay
          ?.ask(path, { ...init, headers: { ...headers, ...init?.headers } })
          .catch(() => undefined);
        if (response && response.status !== 503) return response;
        await Bun.sleep(RETRY_MS);
      }
    },
  };
}

/** A sign-in whose device polls until it has a result, and which `finish` brings to an end. */
async function begin(relays: readonly RelayProcess[], withCode: boolean) {
  const target = createBalancer(relays);
  const { session, state, link } = await (withCode ? startWithCode(target) : start(target));
  const result = pollUntilDone([target], session);
  result.catch(() => {});
  return {
    async finish() {
      const opened = withCode ? await continueWithCode(target, link) : state;
      if (!withCode) expect((await target.ask(`/auth/mal?state=${state}`)).status).toBe(302);
      const code = makeCode();
      expect((await bringCode(target, opened, code)).status).toBe(200);
      expect(await result).toMatchObject(tokensFor(code));
      expect(provider.requestsFor(code)).toBe(1);
    },
  };
}

const beginMany = (relays: readonly RelayProcess[]) =>
  Promise.all(Array.from({ length: 20 }, (_, nth) => begin(relays, nth % 2 === 0)));

test('relays are replaced by newer ones in turn: no sign-in in progress is lost', async () => {
  const ports = [await findFreePort(), await findFreePort()] as const;
  const relays = await Promise.all(ports.map((port) => run('older', 'rolling:', port)));
  async function replace(index: 0 | 1): Promise<void> {
    expect(await relays[index]?.stop('SIGTERM')).toBe(0);
    relays[index] = await run('newer', 'rolling:', ports[index]);
  }
  const before = await beginMany(relays);
  await replace(0);
  // Half of them start at the newer relay, and the older one refuses what is theirs.
  const between = await beginMany(relays);
  const [first, second] = [before.slice(0, 10), between.slice(0, 10)];
  await Promise.all([...first, ...second].map(({ finish }) => finish()));
  await replace(1);
  const after = await beginMany(relays);
  const rest = [...before.slice(10), ...between.slice(10), ...after];
  await Promise.all(rest.map(({ finish }) => finish()));
  await Promise.all(relays.map((relay) => relay.stop()));
});

test('an older relay refuses the record of a newer one by name, and leaves it as it is', async () => {
  const [newer, olderRelay] = await Promise.all([
    run('newer', 'back:', await findFreePort()),
    run('older', 'back:', await findFreePort()),
  ]);
  const { session, state, link } = await startWithCode(newer);
  const paths = [`mal?state=${state}`, `mal/callback?state=${state}&code=c`];
  for (const path of [...paths, `result?session=${session}&cancel=1`]) {
    expect([path, (await olderRelay.ask(`/auth/${path}`)).status]).toEqual([path, 503]);
  }
  expect((await olderRelay.ask(link)).status).toBe(503);
  expect((await olderRelay.ask(`/auth/result?session=${session}`)).status).toBe(204);
  expect(await olderRelay.waitForEvent('store_refuses')).toMatchObject({
    reason: 'NEWER',
    remedy: expect.stringContaining('docs/upgrading.md'),
  });
  const code = makeCode();
  const opened = await continueWithCode(newer, link);
  expect((await bringCode(newer, opened, code)).status).toBe(200);
  expect(await pollUntilDone([newer], session)).toMatchObject(tokensFor(code));
  await Promise.all([newer.stop(), olderRelay.stop()]);
});
