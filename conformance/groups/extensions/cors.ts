/** CORS for web apps on devices: the Fetch standard §3.2. The target lists `LISTED_ORIGINS`: `--print-env`. */

import { LISTED_ORIGINS } from '../../command/environment.ts';
import type { Bench, Case, Group } from '../../engine/case.ts';
import { equal, holds, matches } from '../../engine/expect.ts';
import { linkPath } from '../../wire/addresses.ts';
import { expectStatus, readJson } from '../../wire/answers.ts';
import type { Answer } from '../../wire/http.ts';

const UNLISTED = ['https://other.example', 'http://app.conformance.example', 'NULL', ''];

const DEVICE_ROUTES = [
  { method: 'POST', path: '/auth/start' },
  { method: 'GET', path: '/auth/result?session=nosuch' },
];

function preflight({ target }: Bench, path: string, method: string, origin: string) {
  const headers = {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type',
  };
  return target.send({ method: 'OPTIONS', path, headers });
}

function corsNames({ headers }: Answer): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

function expectNothing(answer: Answer): void {
  equal('CORS headers', corsNames(answer), []);
}

function expectAllowed({ headers }: Answer, origin: string): void {
  const allowed = headers['access-control-allow-origin'];
  holds('Access-Control-Allow-Origin', allowed === origin || allowed === '*', origin, allowed);
  // An answer for one origin must not be kept for another. §3.2.5, "CORS protocol and HTTP caches".
  if (allowed !== '*') matches('Vary', headers.vary, /\borigin\b/i);
  equal('Access-Control-Allow-Credentials', headers['access-control-allow-credentials'], undefined);
}

const preflights: Case = {
  section: 'CORS',
  rule: 'a preflight of a listed origin, null included, is answered in place of the 405',
  covers: ['cors.preflight'],
  async run(bench) {
    for (const origin of LISTED_ORIGINS) {
      for (const { method, path } of DEVICE_ROUTES) {
        const answer = await preflight(bench, path, method, origin);
        holds('status', answer.status === 204 || answer.status === 200, '204', answer.status);
        expectAllowed(answer, origin);
        const { headers } = answer;
        matches('allowed methods', headers['access-control-allow-methods'], new RegExp(method));
        matches('allowed headers', headers['access-control-allow-headers'], /content-type/i);
      }
    }
  },
};

const answers: Case = {
  section: 'CORS',
  rule: 'a listed origin reads the answers, refusals included',
  covers: ['cors.answer'],
  async run({ target, options }) {
    for (const origin of LISTED_ORIGINS) {
      const headers = { Origin: origin };
      const from = await target.sources.next();
      const post = { method: 'POST', path: '/auth/start', headers, from };
      const refused = await target.send({ ...post, body: '{' });
      expectStatus(refused, 400);
      expectAllowed(refused, origin);
      const gone = await target.send({ path: '/auth/result?session=nosuch', headers });
      expectStatus(gone, 410);
      expectAllowed(gone, origin);
      const { secret } = await target.start(options.serviceA);
      const query = new URLSearchParams({ session: secret, wait: '1' });
      const pending = target.send({ path: `/auth/result?${query}`, headers, timeoutMs: 75_000 });
      expectAllowed(await pending, origin);
    }
  },
};

const unlisted: Case = {
  section: 'CORS',
  rule: 'to an origin that is not listed nothing of it is said: OPTIONS is 405 as ever',
  covers: ['cors.unlisted'],
  async run(bench) {
    const { target, options } = bench;
    for (const origin of UNLISTED) {
      for (const { method, path } of DEVICE_ROUTES) {
        const answer = await preflight(bench, path, method, origin);
        expectStatus(answer, 405);
        expectNothing(answer);
      }
      const { secret } = await target.start(options.serviceA);
      const path = `/auth/result?${new URLSearchParams({ session: `${secret}x` })}`;
      expectNothing(await target.send({ path, headers: { Origin: origin } }));
    }
    const plain = await target.post(JSON.stringify({ service: options.serviceA }));
    readJson(plain);
    expectNothing(plain);
  },
};

const browserRoutes: Case = {
  section: 'CORS',
  rule: 'no address that a browser opens has any of it, for listed origins neither',
  covers: ['cors.browser'],
  async run(bench) {
    const { target, options } = bench;
    const session = await target.start(options.serviceA);
    const callback = `/auth/${session.service}/callback?state=nosuch&code=x`;
    for (const path of [linkPath(session), callback, '/auth/done']) {
      for (const origin of LISTED_ORIGINS) {
        const refused = await preflight(bench, path, 'GET', origin);
        expectStatus(refused, 405);
        expectNothing(refused);
        expectNothing(await target.send({ path, headers: { Origin: origin } }));
      }
    }
  },
};

export const cors: Group = {
  name: 'cors',
  about: 'web apps of listed origins may ask as devices do',
  extension: 'cors',
  cases: [preflights, answers, unlisted, browserRoutes],
};
