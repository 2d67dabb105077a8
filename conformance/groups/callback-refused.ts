/** Callbacks that may not touch a session: unknown, another service's, too late. `protocol.md` §3, §4. */

import type { Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { times } from '../engine/wait.ts';
import { json } from '../provider/replies.ts';
import { expectDeadLink, expectStatus, expectText } from '../wire/answers.ts';
import { SERVICE_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

const unknownState: Case = {
  section: '4, 7',
  rule: 'a state that is unknown, empty or missing: 404 page, and no exchange',
  covers: ['4.callback-state', '7.link-not-valid'],
  async run({ target, provider, options }) {
    const { code } = provider.grant();
    const states = [...times(10, () => crypto.randomUUID().slice(0, 24)), ''];
    const endings = states.map((state) => `&state=${state}`);
    for (const ending of [...endings, '']) {
      const path = `/auth/${options.serviceA}/callback?code=${code}${ending}`;
      expectDeadLink(await target.send({ path }));
    }
    equal('exchanges', provider.requests(code).length, 0);
  },
};

const otherService: Case = {
  section: '4, 5, 7',
  rule: "another service's state: 404 page and no exchange; the session stays pending",
  covers: ['4.callback-state', '5.same-service', '7.link-not-valid'],
  async run(bench) {
    const { target, provider, options } = bench;
    const { serviceA, serviceB } = options;
    for (const [mine, other] of [
      [serviceA, serviceB],
      [serviceB, serviceA],
    ] as const) {
      const session = await target.start(mine);
      const { code, result } = provider.grant();
      const crossed = { ...session, service: other };
      expectDeadLink(await target.callback(crossed, { code }));
      expectDeadLink(await target.callback(crossed, { error: 'access_denied' }));
      equal('exchanges', provider.requests(code).length, 0);
      expectStatus(await target.callback(session, { code }), 200);
      await expectResult(bench, session, { ...result });
    }
  },
};

const errorStays: Case = {
  section: '3 rule 1',
  rule: 'after an error, a later callback with a code gets the 404 page and is not exchanged',
  covers: ['3.rule-1', '4.callback-late', '7.link-not-valid'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    expectStatus(await target.callback(session, { error: 'access_denied' }), 200);
    const { code } = provider.grant();
    expectDeadLink(await target.callback(session, { code }));
    equal('exchanges', provider.requests(code).length, 0);
    await expectResult(bench, session, { error: 'access_denied' });
  },
};

const tokensStay: Case = {
  section: '3 rule 1',
  rule: 'after tokens, later callbacks of every kind get the 404 page and change nothing',
  covers: ['3.rule-1', '4.callback-late', '7.link-not-valid'],
  async run(bench) {
    const { target, provider, options } = bench;
    const { session, result, code } = await signIn(bench, options.serviceA);
    const other = provider.grant();
    const failing = provider.plan(json({}, 500));
    const later = [{ error: 'access_denied' }, { error: 'x' }, {}, { code: other.code }];
    for (const parameters of [...later, { code: failing }, { code }]) {
      expectDeadLink(await target.callback(session, parameters));
    }
    equal('exchanges of the first code', provider.requests(code).length, 1);
    equal('exchanges of later codes', provider.requests(other.code).length, 0);
    await expectResult(bench, session, { ...result });
  },
};

const failureStays: Case = {
  section: '3 rule 1',
  rule: 'a failed exchange or a missing code is final too: a good code afterwards comes too late',
  covers: ['3.rule-1', '4.callback-late'],
  async run(bench) {
    const { target, provider, options } = bench;
    const failing = provider.plan(json({}, 500));
    for (const [first, error] of [
      [{ code: failing }, 'exchange_failed'],
      [{}, 'missing_code'],
    ] as const) {
      const session = await target.start(options.serviceB);
      await target.callback(session, first);
      const { code } = provider.grant();
      expectDeadLink(await target.callback(session, { code }));
      equal('exchanges', provider.requests(code).length, 0);
      await expectResult(bench, session, { error });
    }
  },
};

const afterClaim: Case = {
  section: '3 rule 2',
  rule: 'after the claim the state is gone: a callback gets the 404 page and is not exchanged',
  covers: ['3.rule-2', '4.callback-late', '7.link-not-valid'],
  async run(bench) {
    const { target, provider, options } = bench;
    const { session, result } = await signIn(bench, options.serviceA);
    await expectResult(bench, session, { ...result });
    const { code } = provider.grant();
    expectDeadLink(await target.callback(session, { code }));
    expectDeadLink(await target.callback(session, { error: 'access_denied' }));
    equal('exchanges', provider.requests(code).length, 0);
  },
};

const unknownService: Case = {
  section: '4, 7',
  rule: 'a service that is not enabled: 404 page not found, plain text, even with a good state',
  covers: ['4.callback-service', '7.service-not-found', '4.plain-text'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const { code } = provider.grant();
    for (const service of ['nosuch', options.serviceA.toUpperCase(), 'start', 'result', 'done']) {
      const answer = await target.callback({ ...session, service }, { code });
      expectText(answer, 404, SERVICE_NOT_FOUND);
    }
    equal('exchanges', provider.requests(code).length, 0);
  },
};

export const callbackRefused: Group = {
  name: 'callback-refused',
  about: 'GET /auth/<service>/callback that may not touch a session',
  cases: [
    unknownState,
    otherService,
    errorStays,
    tokensStay,
    failureStays,
    afterClaim,
    unknownService,
  ],
};
