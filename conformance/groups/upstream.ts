/** Providers that misbehave: every one of these is a failed exchange. `protocol.md` §4, §8. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { between } from '../engine/expect.ts';
import {
  after,
  cutShort,
  drip,
  HANG_UPS,
  hangUp,
  json,
  type Reply,
  redirect,
  silence,
  text,
} from '../provider/replies.ts';
import { makeTokens, tokenResponse } from '../provider/tokens.ts';
import { expectErrorPage, expectSuccessPage } from '../wire/answers.ts';
import { NOT_EXCHANGED } from '../wire/messages.ts';
import { exchange, expectResult } from '../wire/sign-in.ts';

/** The 502 page, `exchange_failed` for the device, and the provider asked once, or as often as `most`. */
async function expectFailed(bench: Bench, reply: Reply, most = 1): Promise<number> {
  const { session, code, page } = await exchange(bench, bench.options.serviceA, reply);
  expectErrorPage(page, 502, NOT_EXCHANGED);
  between('requests at the provider', bench.provider.requests(code).length, 1, most);
  await expectResult(bench, session, { error: 'exchange_failed' });
  return page.seconds;
}

const goodTokens = () => tokenResponse(makeTokens());

const otherStatus: Case = {
  section: '4',
  rule: 'any status other than 200 is a failed exchange, even with tokens in the body',
  covers: ['4.exchange-failures', '7.exchange-failed'],
  async run(bench) {
    for (const status of [201, 202, 203, 206, 299, 400, 401, 403, 404, 429, 500, 503]) {
      await expectFailed(bench, json(goodTokens(), status));
    }
    await expectFailed(bench, text('', 204));
  },
};

const redirected: Case = {
  section: '4',
  rule: 'a redirect is a status other than 200: a failed exchange, and the code goes nowhere else',
  covers: ['4.exchange-failures'],
  async run(bench) {
    for (const status of [301, 302, 303, 307, 308]) {
      await expectFailed(bench, redirect(status, 'trap'));
      await expectFailed(bench, redirect(status, 'token'));
    }
  },
};

const unparseable: Case = {
  section: '4',
  rule: 'a body that is not JSON, or not an object, is a failed exchange',
  covers: ['4.exchange-failures'],
  async run(bench) {
    const cut = JSON.stringify(goodTokens()).slice(0, -1);
    const bodies = ['', ' ', '<html></html>', 'access_token=x&expires_in=1', cut];
    for (const body of [...bodies, '[]', 'null', '"x"', '42']) {
      await expectFailed(bench, text(body));
    }
  },
};

const noAccessToken: Case = {
  section: '2, 4',
  rule: 'a missing, empty or non-string access_token is a failed exchange',
  covers: ['4.exchange-failures', '2.token-response'],
  async run(bench) {
    for (const access of [{}, { access_token: '' }, { access_token: null }, { access_token: 5 }]) {
      await expectFailed(bench, json({ refresh_token: 'unused', expires_in: 3600, ...access }));
    }
  },
};

const brokenConnection: Case = {
  section: '4',
  rule: 'a connection that breaks before or within the answer is a failed exchange; tried once, or once more where a kept connection was closed',
  covers: ['4.exchange-failures'],
  async run(bench) {
    await expectFailed(bench, hangUp, HANG_UPS);
    await expectFailed(bench, cutShort(JSON.stringify(goodTokens()).slice(0, 40)));
  },
};

export const upstream: Group = {
  name: 'upstream',
  about: 'providers that answer wrongly',
  cases: [otherStatus, redirected, unparseable, noAccessToken, brokenConnection],
};

const UPSTREAM_SECONDS = 15;
/** Scheduling on a busy machine. Waiting far longer or shorter is what matters. */
const EARLY_SECONDS = 0.5;
const LATE_SECONDS = 4;

function expectTimeout(seconds: number): void {
  const [least, most] = [UPSTREAM_SECONDS - EARLY_SECONDS, UPSTREAM_SECONDS + LATE_SECONDS];
  between('seconds until the 502 page', seconds, least, most);
}

const silent: Case = {
  section: '4, 8',
  rule: 'a provider that does not answer is given 15 seconds, then the exchange has failed',
  covers: ['8.upstream-timeout', '4.exchange-request', '4.exchange-failures'],
  run: async (bench) => expectTimeout(await expectFailed(bench, silence)),
};

const dripping: Case = {
  section: '4, 8',
  rule: 'the 15 seconds cover the body: a provider that trickles it is cut off too',
  covers: ['8.upstream-timeout'],
  run: async (bench) => expectTimeout(await expectFailed(bench, drip)),
};

const slowButGood: Case = {
  section: '4, 8',
  rule: 'a provider that answers after 12 seconds is in time',
  covers: ['8.upstream-timeout'],
  async run(bench) {
    const result = makeTokens();
    const reply = after(12_000, json(tokenResponse(result)));
    const { session, page } = await exchange(bench, bench.options.serviceA, reply);
    expectSuccessPage(page);
    await expectResult(bench, session, { ...result });
  },
};

export const upstreamTimeout: Group = {
  name: 'upstream-timeout',
  about: 'providers that are slow: the 15 seconds',
  pace: 'at-once',
  cases: [silent, dripping, slowButGood],
};
