/** Wrong methods: 405, before anything else is looked at. `protocol.md` §4, §7. */

import type { Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import type { RowId } from '../engine/rows.ts';
import { linkPath } from '../wire/addresses.ts';
import { expectNotAllowed, expectStatus } from '../wire/answers.ts';
import { expectResult } from '../wire/sign-in.ts';

const NOT_GET = ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const NOT_POST = ['HEAD', 'GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A fixed address answers every other method with 405. */
function fixedPath(path: string, methods: readonly string[], row: RowId): Case {
  const allowed = methods === NOT_GET ? 'GET' : 'POST';
  return {
    section: '4, 7',
    rule: `${path} with another method than ${allowed}: 405 Method not allowed`,
    covers: [row, '7.method', '4.plain-text'],
    async run({ target }) {
      for (const method of methods) {
        expectNotAllowed(await target.send({ method, path }), method);
      }
    },
  };
}

const link: Case = {
  section: '4, 7',
  rule: '/auth/<service> with another method than GET: 405, good state or not',
  covers: ['4.authorize-method', '7.method'],
  async run({ target, options }) {
    const session = await target.start(options.serviceA);
    for (const path of [linkPath(session), `/auth/${options.serviceA}`]) {
      for (const method of NOT_GET) {
        expectNotAllowed(await target.send({ method, path }), method);
      }
    }
    expectStatus(await target.open(session), 302);
  },
};

const callback: Case = {
  section: '4, 7',
  rule: '/auth/<service>/callback with another method than GET: 405, and the session stays pending',
  covers: ['4.callback-method', '7.method'],
  async run(bench) {
    const { target, provider, options } = bench;
    const session = await target.start(options.serviceA);
    const { code, result } = provider.grant();
    const path = `/auth/${session.service}/callback?code=${code}&state=${session.state}`;
    for (const method of NOT_GET) {
      expectNotAllowed(await target.send({ method, path }), method);
      const denied = path.replace('code=', 'error=');
      expectNotAllowed(await target.send({ method, path: denied }), method);
    }
    equal('exchanges', provider.requests(code).length, 0);
    await target.callback(session, { code });
    await expectResult(bench, session, { ...result });
  },
};

const startsNothing: Case = {
  section: '4',
  rule: 'a start body sent with another method starts nothing',
  covers: ['4.start-check-1'],
  async run({ target, options }) {
    const body = JSON.stringify({ service: options.serviceA });
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expectNotAllowed(await target.send({ method, path: '/auth/start', body }), method);
    }
  },
};

export const methods: Group = {
  name: 'methods',
  about: 'wrong methods, 405',
  cases: [
    fixedPath('/auth/start', NOT_POST, '4.start-check-1'),
    fixedPath('/auth/result', NOT_GET, '4.result-method'),
    fixedPath('/auth/done', NOT_GET, '4.done'),
    link,
    callback,
    startsNothing,
  ],
};
