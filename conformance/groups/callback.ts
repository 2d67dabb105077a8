/** `GET /auth/<service>/callback`: what each outcome answers and leaves, `protocol.md` §3 and §4. */

import type { Bench, Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { json } from '../provider/replies.ts';
import { expectErrorPage, expectSuccessPage } from '../wire/answers.ts';
import { CANCELLED, FAILED, INCOMPLETE, NOT_EXCHANGED } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';
import type { Parameters } from '../wire/target.ts';

/** A callback that ends the session with an error, without any exchange. */
async function expectError(
  bench: Bench,
  parameters: Parameters,
  page: readonly [status: number, message: string],
  error: string,
): Promise<void> {
  const { target, provider, options } = bench;
  for (const service of [options.serviceA, options.serviceB]) {
    const session = await target.start(service);
    const answer = await target.callback(session, parameters);
    expectErrorPage(answer, ...page);
    equal('exchanges', provider.requests(parameters.code ?? '').length, 0);
    await expectResult(bench, session, { error });
  }
}

const accessDenied: Case = {
  section: '3, 4',
  rule: 'error=access_denied: 200 page "Sign-in was cancelled.", the device gets access_denied',
  covers: ['3.access-denied', '4.result-error', '2.error-result', '7.error-results'],
  run: (bench) => expectError(bench, { error: 'access_denied' }, [200, CANCELLED], 'access_denied'),
};

const otherError: Case = {
  section: '3, 4',
  rule: 'any other error: 200 page "Sign-in failed. …", the device gets authorization_failed',
  covers: ['3.other-error', '2.error-result', '7.error-results'],
  async run(bench) {
    for (const error of ['server_error', 'invalid_scope', 'ACCESS_DENIED', 'access_denied ', '0']) {
      await expectError(bench, { error }, [200, FAILED], 'authorization_failed');
    }
  },
};

const missingCode: Case = {
  section: '3, 4, 7',
  rule: 'no error and no or an empty code: 400 page, the device gets missing_code',
  covers: ['3.missing-code', '7.missing-code', '2.error-result', '7.error-results'],
  async run(bench) {
    await expectError(bench, {}, [400, INCOMPLETE], 'missing_code');
    await expectError(bench, { code: '' }, [400, INCOMPLETE], 'missing_code');
    await expectError(bench, { code: '', error: '' }, [400, INCOMPLETE], 'missing_code');
  },
};

const exchangeFailed: Case = {
  section: '3, 4, 7',
  rule: 'the exchange fails: 502 page, the device gets exchange_failed',
  covers: ['3.exchange-failed', '7.exchange-failed', '2.error-result', '7.error-results'],
  async run(bench) {
    const { target, provider, options } = bench;
    for (const service of [options.serviceA, options.serviceB]) {
      const session = await target.start(service);
      const code = provider.plan(json({ error: 'invalid_grant' }, 400));
      expectErrorPage(await target.callback(session, { code }), 502, NOT_EXCHANGED);
      await expectResult(bench, session, { error: 'exchange_failed' });
    }
  },
};

const success: Case = {
  section: '3, 4',
  rule: 'the exchange succeeds: 200 page "Signed in", the device gets the tokens',
  covers: ['3.exchange-succeeded', '4.callback-success', '4.result-tokens', '2.token-result'],
  async run(bench) {
    for (const service of [bench.options.serviceA, bench.options.serviceB]) {
      const { session, result } = await signIn(bench, service);
      await expectResult(bench, session, { ...result });
    }
  },
};

const errorFirst: Case = {
  section: '4',
  rule: 'an error is looked at before the code: with both, no exchange is made',
  covers: ['4.callback-order'],
  async run(bench) {
    const { code } = bench.provider.grant();
    const denied = { error: 'access_denied', code };
    await expectError(bench, denied, [200, CANCELLED], 'access_denied');
    const failed = { code, error: 'temporarily_unavailable' };
    await expectError(bench, failed, [200, FAILED], 'authorization_failed');
    await expectError(bench, { error: 'x', code: '' }, [200, FAILED], 'authorization_failed');
  },
};

const emptyError: Case = {
  section: '4',
  rule: 'an empty error is no error: the code is exchanged',
  covers: ['4.callback-order'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const { code, result } = provider.grant();
    expectSuccessPage(await target.callback(session, { error: '', code }));
    await expectResult(bench, session, { ...result });
  },
};

export const callback: Group = {
  name: 'callback',
  about: 'GET /auth/<service>/callback, each outcome',
  cases: [accessDenied, otherError, missingCode, exchangeFailed, success, errorFirst, emptyError],
};
