/** `POST /auth/start`, accepted: `protocol.md` §2 and §4. */

import type { Case, Group } from '../engine/case.ts';
import { equal, holds, matches } from '../engine/expect.ts';
import { times } from '../engine/wait.ts';
import { expectText, readJson } from '../wire/answers.ts';

const START_BODY_BYTES = 512;
const CAPABILITY = /^[A-Za-z0-9_-]{24}$/;

const response: Case = {
  section: '2, 4',
  rule: 'an accepted start answers 200 JSON with session, url and expiresIn, and nothing else',
  covers: ['3.start', '4.start-response', '2.start-response'],
  async run({ target, options }) {
    const answer = await target.post(JSON.stringify({ service: options.serviceA }));
    const fields = readJson(answer);
    equal('field names', Object.keys(fields).sort(), ['expiresIn', 'session', 'url']);
    equal('types', [typeof fields.session, typeof fields.url], ['string', 'string']);
  },
};

const lifetime: Case = {
  section: '2, 8',
  rule: 'expiresIn is the session lifetime in seconds, as an integer',
  covers: ['8.lifetime', '2.start-response'],
  async run({ target, options }) {
    const answer = await target.post(JSON.stringify({ service: options.serviceB }));
    const { expiresIn } = readJson(answer);
    equal('expiresIn', expiresIn, options.sessionSeconds);
  },
};

const url: Case = {
  section: '2',
  rule: 'url is {base_url}/auth/<service>?state=<browser state>, for both services',
  covers: ['2.start-response'],
  async run({ target, options }) {
    for (const service of [options.serviceA, options.serviceB]) {
      const session = await target.start(service);
      equal('url', session.url, `${options.publicUrl}/auth/${service}?state=${session.state}`);
    }
  },
};

const format: Case = {
  section: '2, 8',
  rule: 'session and browser state are 24 characters of base64url without padding',
  covers: ['2.browser-state', '2.poll-secret', '8.browser-state', '8.poll-secret'],
  async run({ target, options }) {
    for (const service of [options.serviceA, options.serviceB]) {
      const session = await target.start(service);
      matches('session', session.secret, CAPABILITY);
      matches('state', session.state, CAPABILITY);
    }
  },
};

const SAMPLE = 60;

const fresh: Case = {
  section: '2, 5',
  rule: 'session and browser state are fresh per session, and unlike each other',
  covers: ['2.browser-state', '2.poll-secret', '5.capabilities'],
  async run({ target, options }) {
    const started = await Promise.all(times(SAMPLE, () => target.start(options.serviceA)));
    const all = started.flatMap(({ secret, state }) => [secret, state]);
    equal('different values', new Set(all).size, 2 * SAMPLE);
    for (const part of ['secret', 'state'] as const) {
      const values = started.map((session) => session[part]);
      // Of 60 random characters out of 64 about 39 differ; a counter or a clock shows fewer.
      const fewest = Math.min(...times(24, (at) => new Set(values.map((v) => v[at])).size));
      holds(
        `different characters in each place of the ${part}`,
        fewest >= 20,
        '20 or more',
        fewest,
      );
    }
  },
};

const fullBody: Case = {
  section: '2, 8',
  rule: 'a start body of exactly 512 bytes is read whole',
  covers: ['2.start-request', '8.start-body'],
  async run({ target, options }) {
    const head = `{"service":"${options.serviceA}","pad":"`;
    const body = `${head}${'x'.repeat(START_BODY_BYTES - head.length - 2)}"}`;
    equal('bytes sent', Buffer.byteLength(body), START_BODY_BYTES);
    readJson(await target.post(body));
  },
};

const cutBody: Case = {
  section: '2, 8',
  rule: 'JSON longer than 512 bytes is cut, and then not JSON: 400 Invalid JSON',
  covers: ['2.start-request', '8.start-body', '7.invalid-json'],
  async run({ target, options }) {
    const head = `{"service":"${options.serviceA}","pad":"`;
    for (const length of [START_BODY_BYTES + 1, 4_000]) {
      const body = `${head}${'x'.repeat(length - head.length - 2)}"}`;
      expectText(await target.post(body), 400, 'Invalid JSON');
    }
  },
};

const trailingSpace: Case = {
  section: '2, 8',
  rule: 'what follows the first 512 bytes is not looked at: JSON and then spaces is accepted',
  covers: ['2.start-request', '8.start-body'],
  async run({ target, options }) {
    const body = JSON.stringify({ service: options.serviceA });
    readJson(await target.post(body + ' '.repeat(2 * START_BODY_BYTES)));
    readJson(await target.post(`${body.padEnd(START_BODY_BYTES)}rubbish`));
  },
};

export const start: Group = {
  name: 'start',
  about: 'POST /auth/start, accepted',
  cases: [response, lifetime, url, format, fresh, fullBody, cutBody, trailingSpace],
};
