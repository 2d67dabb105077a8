/** Which paths there are: `protocol.md` §4, path matching, and `/auth/done`. */

import type { Case, Group } from '../engine/case.ts';
import { equal } from '../engine/expect.ts';
import { expectSuccessPage, expectText } from '../wire/answers.ts';
import { SERVICE_NOT_FOUND } from '../wire/messages.ts';
import { signIn } from '../wire/sign-in.ts';

const otherShapes: Case = {
  section: '4, 7',
  rule: 'an empty service or a further segment other than callback: 404 page not found, plain text',
  covers: ['4.paths-other', '7.path-shape', '4.plain-text'],
  async run({ target, options }) {
    const service = `/auth/${options.serviceA}`;
    const shapes = [
      '/auth/',
      '/auth//callback',
      '/auth//',
      `${service}/x`,
      `${service}/callback/x`,
    ];
    const slashes = [`${service}/`, `${service}/callback/`, `${service}//callback`];
    for (const path of [...shapes, ...slashes, '/auth/x/y/z']) {
      expectText(await target.send({ path }), 404, SERVICE_NOT_FOUND);
    }
  },
};

const goodStateWrongShape: Case = {
  section: '4',
  rule: 'a wrong shape stays 404 with the state of a live session',
  covers: ['4.paths-other', '4.paths-service'],
  async run({ target, options }) {
    const { service, state } = await target.start(options.serviceA);
    for (const shape of [`${service}/`, `${service}/callback/`, `${service}/authorize`, '']) {
      const answer = await target.send({ path: `/auth/${shape}?state=${state}&error=x` });
      expectText(answer, 404, SERVICE_NOT_FOUND);
    }
  },
};

const exactNames: Case = {
  section: '4',
  rule: 'start, result and done are matched exactly: with anything after them they are not served',
  covers: ['4.paths-exact'],
  async run({ target, options }) {
    const { secret } = await target.start(options.serviceA);
    const names = ['start/', 'result/', 'done/', 'start/x', 'result/x', 'done/x'];
    const like = [
      'starts',
      'results',
      'Start',
      'RESULT',
      'Done',
      'done/callback',
      'start/callback',
    ];
    for (const name of [...names, ...like]) {
      const answer = await target.send({ path: `/auth/${name}?session=${secret}` });
      expectText(answer, 404, SERVICE_NOT_FOUND);
    }
  },
};

const unknownService: Case = {
  section: '4, 7',
  rule: 'any other single segment is a service; one that is not enabled: 404 page not found',
  covers: ['4.paths-service', '4.authorize-service', '7.service-not-found'],
  async run({ target }) {
    for (const path of ['/auth/nosuch', '/auth/nosuch/callback', '/auth/favicon.ico']) {
      expectText(await target.send({ path }), 404, SERVICE_NOT_FOUND);
    }
  },
};

const done: Case = {
  section: '4',
  rule: '/auth/done is the success page, whatever its query',
  covers: ['4.done'],
  async run(bench) {
    const { page } = await signIn(bench, bench.options.serviceA);
    const expected = expectSuccessPage(page);
    for (const query of ['', '?', '?error=access_denied&state=x&code=y']) {
      const answer = await bench.target.send({ path: `/auth/done${query}` });
      equal('page', expectSuccessPage(answer), expected);
    }
  },
};

export const paths: Group = {
  name: 'paths',
  about: 'which paths there are',
  cases: [otherShapes, goodStateWrongShape, exactNames, unknownService, done],
};
