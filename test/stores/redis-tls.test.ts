/** TLS and a user that may do no more than docs/scaling.md says. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type Clock, systemClock } from '../../src/relay/clock.ts';
import { StoreUnavailable } from '../../src/relay/store.ts';
import { failureOf } from '../support/failure-of.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { startRedis } from '../support/redis/start-redis.ts';
import { plantSecret } from '../support/secrets.ts';
import { startSession } from '../support/wire.ts';
import { runRateLimiterSuite } from './suite/run-rate-limiter-suite.ts';
import { runRefreshAnswersSuite } from './suite/run-refresh-answers-suite.ts';
import { runStoreSuite } from './suite/run-store-suite.ts';
import { rulesFor } from './support/acl.ts';
import {
  makeRedisRateLimiter,
  makeRedisRefreshAnswers,
  makeRedisStore,
  openTestRedis,
} from './support/redis-store.ts';

/** With what must be written percent-encoded in an address. */
const PASSWORD = plantSecret('p@ss/word:with?marks#in%it');
const RULES = `${rulesFor('single', 'test-*:')} ${rulesFor('single', 'sign-in-relay:')}`;

const redis = await startRedis({
  tls: true,
  user: { name: 'relay', password: PASSWORD, rules: RULES },
});
/** Gives up earlier than a relay would. */
const impatient: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(Math.min(delayMs, 1_000), run),
};
const refusalOf = (url: string) => failureOf(openTestRedis(url, { clock: impatient }));

const trusted = getCACertificates('default');
const authority = readFileSync(redis.caFile ?? '', 'utf8');

setDefaultCACertificates([...trusted, authority]);
afterAll(async () => {
  setDefaultCACertificates(trusted);
  await redis.stop();
});

runStoreSuite('redis over TLS, as an ACL user', makeRedisStore(redis.url));
runRateLimiterSuite('redis over TLS, as an ACL user', makeRedisRateLimiter(redis.url));
runRefreshAnswersSuite('redis over TLS, as an ACL user', makeRedisRefreshAnswers(redis.url));

test('none of it was refused', async () => {
  expect(await redis.cli('ACL', 'LOG')).toBe('');
});

test('a certificate that nobody vouches for is not taken', async () => {
  setDefaultCACertificates(trusted);
  try {
    expect(await refusalOf(redis.url)).toBeInstanceOf(StoreUnavailable);
  } finally {
    setDefaultCACertificates([...trusted, authority]);
  }
});

test('without TLS, or with a wrong password, nobody gets in', async () => {
  const plain = redis.url.replace('rediss:', 'redis:');
  const wrong = redis.url.replace(/:[^:]*@/, ':another-password@');
  const failures = await Promise.all([plain, wrong].map(refusalOf));
  for (const failure of failures) expect(failure).toBeInstanceOf(StoreUnavailable);
});

test('a relay trusts the authority that NODE_EXTRA_CA_CERTS names', async () => {
  const relay = await startLocalRelay({
    REDIS_URL: redis.url,
    NODE_EXTRA_CA_CERTS: redis.caFile ?? '',
    MAL_CLIENT_ID: 'mal-client',
  });
  try {
    await startSession(relay.baseUrl, 'mal');
    expect(await redis.cli('ZCARD', 'sign-in-relay:live')).toBe('1');
  } finally {
    await relay.stop();
  }
});
