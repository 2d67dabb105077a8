/** `GET /auth/<service>`, links that lead nowhere: `protocol.md` §4. */

import type { Case, Group } from '../engine/case.ts';
import { expectDeadLink, expectStatus, expectText } from '../wire/answers.ts';
import { SERVICE_NOT_FOUND } from '../wire/messages.ts';
import { expectResult, signIn } from '../wire/sign-in.ts';

const unknownState: Case = {
  section: '4, 7',
  rule: 'a state that is unknown, empty or missing: 404 page, link no longer valid',
  covers: ['4.authorize-state', '7.link-not-valid', '4.callback-error-page'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    const wrong = [session.state.slice(0, -1), `${session.state}A`, 'A'.repeat(24), ''];
    const queries = [...wrong.map((state) => `?${new URLSearchParams({ state })}`), ''];
    for (const query of queries) {
      expectDeadLink(await target.send({ path: `/auth/${options.serviceA}${query}` }));
    }
  },
};

const otherService: Case = {
  section: '4, 7',
  rule: "a state that belongs to another service's session: 404 page, link no longer valid",
  covers: ['4.authorize-state', '7.link-not-valid', '5.same-service'],
  async run({ target, options }) {
    const { serviceA, serviceB } = options;
    for (const [mine, other] of [
      [serviceA, serviceB],
      [serviceB, serviceA],
    ] as const) {
      const session = await target.start(mine);
      expectDeadLink(await target.open({ ...session, service: other }));
      expectStatus(await target.open(session), 302);
    }
  },
};

const claimed: Case = {
  section: '3 rule 2',
  rule: 'the link of a claimed session: 404 page, link no longer valid',
  covers: ['3.rule-2', '4.authorize-state', '7.link-not-valid'],
  async run(bench) {
    const { session, result } = await signIn(bench, bench.options.serviceA);
    await expectResult(bench, session, { ...result });
    expectDeadLink(await bench.target.open(session));
  },
};

const unknownService: Case = {
  section: '4, 7',
  rule: 'a service that is not enabled: 404 page not found, plain text, even with a good state',
  covers: ['4.authorize-service', '7.service-not-found', '4.plain-text'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    for (const service of ['nosuch', options.serviceA.toUpperCase(), 'constructor']) {
      expectText(await target.open({ ...session, service }), 404, SERVICE_NOT_FOUND);
    }
  },
};

export const authorizeRefused: Group = {
  name: 'authorize-refused',
  about: 'GET /auth/<service>, links that lead nowhere',
  cases: [unknownState, otherService, claimed, unknownService],
};
