/**
 * Relays with two versions of the record share a Redis (docs/upgrading.md). The older relay is
 * this one with a smaller RECORD_VERSION.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pollUntilDone, startWithCode } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import { MAIN, ROOT, startRelay } from '../kit/relay.ts';
import { bringCode, continueWithCode, makeCode } from '../kit/user.ts';

setDefaultTimeout(60_000);

const older = newFolder();
const redis = await startRedis();
const provider = startTokenEndpoint();
afterAll(async () => {
  provider.stop();
  await redis.stop();
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
