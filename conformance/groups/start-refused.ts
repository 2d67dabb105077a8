/** `POST /auth/start`, refused: the checks of `protocol.md` §4 and their order. */

import type { Case, Group } from '../engine/case.ts';
import { expectNotAllowed, expectText, readJson } from '../wire/answers.ts';
import { exhaust } from '../wire/exhaust.ts';

const NOT_JSON = ['', ' ', '{', 'service=mal', '{"service":"mal"', "{'service':'mal'}", '{"a":1,}'];

const invalidJson: Case = {
  section: '4, 7',
  rule: 'a body that is not parseable JSON: 400 Invalid JSON',
  covers: ['4.start-check-4', '7.invalid-json', '4.plain-text'],
  async run({ target }) {
    for (const body of NOT_JSON) expectText(await target.post(body), 400, 'Invalid JSON');
  },
};

const unknownService: Case = {
  section: '4, 7',
  rule: 'a service that is not an enabled provider, to the letter: 400 Unknown service',
  covers: ['4.start-check-5', '7.unknown-service', '4.plain-text'],
  async run({ target, options }) {
    const near = [options.serviceA.toUpperCase(), `${options.serviceA} `, `/${options.serviceA}`];
    const names = ['nosuch', '', ...near, 'start', 'result', '__proto__', 'constructor'];
    for (const service of names) {
      expectText(await target.post(JSON.stringify({ service })), 400, 'Unknown service');
    }
  },
};

const notAName: Case = {
  section: '4, 7',
  rule: 'JSON without a service, or whose service is not a string: 400 Unknown service',
  covers: ['4.start-check-5', '7.unknown-service'],
  async run({ target, options }) {
    const name = options.serviceA;
    const bodies = [{}, { service: null }, { service: 5 }, { service: [name] }, [], name, null, 42];
    for (const body of bodies) {
      expectText(await target.post(JSON.stringify(body)), 400, 'Unknown service');
    }
  },
};

const jsonFirst: Case = {
  section: '4',
  rule: 'the body is checked before the service: broken JSON of an unknown service is Invalid JSON',
  covers: ['4.start-check-4'],
  async run({ target }) {
    expectText(await target.post('{"service":"nosuch"'), 400, 'Invalid JSON');
  },
};

const methodFirst: Case = {
  section: '4',
  rule: 'the method is checked before the rate limit: an exhausted client that sends GET gets 405',
  covers: ['4.start-check-1', '4.start-check-3'],
  async run(bench) {
    const { from } = await exhaust(bench);
    expectNotAllowed(await bench.target.send({ path: '/auth/start', from }), 'GET');
  },
};

const rateFirst: Case = {
  section: '4',
  rule: 'the rate limit is checked before the body: an exhausted client with broken JSON gets 429',
  covers: ['4.start-check-3', '7.rate-limited'],
  async run(bench) {
    const { from } = await exhaust(bench);
    expectText(await bench.target.post('{', from), 429, 'Rate limited');
  },
};

const refusedStartsNothing: Case = {
  section: '4',
  rule: 'a refused start does not stand in the way of the next one',
  covers: ['4.start-check-5'],
  async run({ target, options }) {
    const from = await target.sources.fresh();
    expectText(await target.post('{"service":"nosuch"}', from), 400, 'Unknown service');
    readJson(await target.post(JSON.stringify({ service: options.serviceA }), from));
  },
};

export const startRefused: Group = {
  name: 'start-refused',
  about: 'POST /auth/start, refused, and the order of its checks',
  cases: [
    invalidJson,
    unknownService,
    notAName,
    jsonFirst,
    methodFirst,
    rateFirst,
    refusedStartsNothing,
  ],
};
