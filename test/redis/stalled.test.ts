/**
 * Redis is stopped: it takes what is sent and answers nothing. Every endpoint that asks
 * it answers all the same, each command by its own deadline, since handlers have none.
 */
import { expect, setDefaultTimeout, test } from 'bun:test';
import {
  acknowledge,
  authorizeDevice,
  pollToken,
  refresh,
  requestAuthorization,
  start,
  startRequest,
} from '../kit/device.ts';
import { DEPLOYMENTS } from '../kit/redis/deployments.ts';
import { startRelay } from '../kit/relay.ts';
import { bringCode, decide, makeCode, typeCode } from '../kit/user.ts';

setDefaultTimeout(90_000);

test.concurrent.each(DEPLOYMENTS)(
  'with %s: no request is left without an answer',
  async (_, startDeployment) => {
    await using redis = await startDeployment();
    const relay = await startRelay({
      REDIS_URL: redis.url,
      MAL_CLIENT_ID: 'client',
      MAL_TOKEN_URL: 'http://127.0.0.1:9/token',
      MAX_SESSIONS: '1000',
      START_BURST: '100',
    });
    const [open, polled] = [await start(relay), await start(relay)];
    const { deviceCode, link, user_code: userCode } = await authorizeDevice(relay);
    await redis.freeze();
    const oauth = [
      requestAuthorization(relay),
      pollToken(relay, deviceCode),
      refresh(relay, 'a-refresh-token'),
    ];
    const answers = await Promise.all([
      relay.ask('/auth/start', startRequest()),
      relay.ask(`/auth/mal?state=${open.state}`),
      bringCode(relay, open.state, makeCode()),
      relay.ask(`/auth/result?session=${polled.session}&wait=1`),
      acknowledge(relay, polled.session),
      relay.ask(`/auth/result?session=${open.session}&cancel=1`),
      relay.ask(`/qr/${open.state}.png`),
      relay.ask(link),
      decide(relay, link),
      typeCode(relay, userCode),
    ]);
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    expect(answers.map(({ status }) => status)).toEqual([
      ...[503, 503, 503, 204, 503, 503, 503, 503, 503, 303],
    ]);
    expect(await Promise.all(oauth)).toMatchObject([
      { body: { error: 'temporarily_unavailable' } },
      { body: { error: 'authorization_pending' } },
      { status: 503 },
    ]);
    redis.thaw();
    expect(await relay.stop()).toBe(0);
  },
);
