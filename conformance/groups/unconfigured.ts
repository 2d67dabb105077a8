/** A relay without OAUTH_BASE_URL: `protocol.md` §1, §7. It is a second instance, `--unconfigured-url`. */

import type { Case, Group } from '../engine/case.ts';
import { expectNoStore, expectStatus, expectText } from '../wire/answers.ts';

const NOT_CONFIGURED = 'OAuth proxy not configured';

const everyPath: Case = {
  section: '1, 7',
  rule: 'without a base URL every path under /auth/ answers 503 OAuth proxy not configured',
  covers: ['1.configuration', '7.not-configured', '4.plain-text'],
  async run({ target, options }) {
    const fixed = ['/auth/start', '/auth/result', '/auth/result?session=x', '/auth/done'];
    const service = `/auth/${options.serviceA}`;
    const routed = [service, `${service}?state=x`, `${service}/callback?code=x&state=x`];
    for (const path of [...fixed, ...routed, '/auth/', '/auth/nosuch', '/auth/x/y/z']) {
      expectText(await target.sendUnconfigured({ path }), 503, NOT_CONFIGURED);
    }
  },
};

const everyMethod: Case = {
  section: '1, 7',
  rule: 'whatever the method and the body',
  covers: ['1.configuration', '7.not-configured'],
  async run({ target, options }) {
    const body = JSON.stringify({ service: options.serviceA });
    const start = { method: 'POST', path: '/auth/start' };
    expectText(await target.sendUnconfigured({ ...start, body }), 503, NOT_CONFIGURED);
    expectText(await target.sendUnconfigured({ ...start, body: '{' }), 503, NOT_CONFIGURED);
    for (const path of ['/auth/start', '/auth/result', '/auth/done', '/auth/x/y/z']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        expectText(await target.sendUnconfigured({ method, path }), 503, NOT_CONFIGURED);
      }
      expectStatus(await target.sendUnconfigured({ method: 'HEAD', path }), 503);
    }
  },
};

const noStore: Case = {
  section: '1, 4',
  rule: 'these are answers of start and result too: Cache-Control is no-store, private',
  covers: ['4.start-no-store', '4.result-no-store'],
  async run({ target }) {
    expectNoStore(await target.sendUnconfigured({ method: 'POST', path: '/auth/start' }));
    expectNoStore(await target.sendUnconfigured({ path: '/auth/result' }));
  },
};

export const unconfigured: Group = {
  name: 'unconfigured',
  about: 'a second instance without OAUTH_BASE_URL: 503',
  cases: [everyPath, everyMethod, noStore],
};
