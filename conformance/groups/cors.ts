/** CORS for web apps on devices (Fetch standard). The relay allows `LISTED_ORIGINS`: `--print-env`. */

import * as expect from '../answers.ts';
import { equal, holds, matches } from '../expect.ts';
import type { Answer } from '../http.ts';
import { LISTED_ORIGINS, SERVICE_A } from '../options.ts';
import { linkPath } from '../relay.ts';
import { cases, type Kit } from '../runner.ts';

const UNLISTED_ORIGINS = ['https://other.example', 'http://app.conformance.example', 'NULL', ''];

const DEVICE_ROUTES = [
  { method: 'POST', path: '/auth/start' },
  { method: 'GET', path: '/auth/result?session=nosuch' },
];

function preflight({ relay }: Kit, path: string, method: string, origin: string) {
  const headers = {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'content-type',
  };
  return relay.send({ method: 'OPTIONS', path, headers });
}

function expectNoCors({ headers }: Answer): void {
  const names = Object.keys(headers).filter((name) => name.startsWith('access-control-'));
  equal('CORS headers', names, []);
}

function expectAllowed({ headers }: Answer, origin: string): void {
  const allowed = headers['access-control-allow-origin'];
  holds('Access-Control-Allow-Origin', allowed === origin || allowed === '*', origin, allowed);
  // No cache may use the answer for another origin (Fetch standard, "CORS protocol and HTTP caches").
  if (allowed !== '*') matches('Vary', headers.vary, /\borigin\b/i);
  equal('Access-Control-Allow-Credentials', headers['access-control-allow-credentials'], undefined);
}

export const cors = cases((test) => {
  test('On request: a preflight of a listed origin, `null` included, is answered instead of the 405', async (kit) => {
    for (const origin of LISTED_ORIGINS) {
      for (const { method, path } of DEVICE_ROUTES) {
        const answer = await preflight(kit, path, method, origin);
        holds('status', [200, 204].includes(answer.status), '204', answer.status);
        expectAllowed(answer, origin);
        const { headers } = answer;
        const allowed = headers['access-control-allow-methods'] ?? '';
        holds('allowed methods', allowed.includes(method), method, allowed);
        matches('allowed headers', headers['access-control-allow-headers'], /content-type/i);
      }
    }
  });

  test('On request: a listed origin may read the answers, refusals included', async ({ relay }) => {
    for (const origin of LISTED_ORIGINS) {
      const headers = { Origin: origin };
      const from = relay.nextAddress();
      const post = { method: 'POST', path: '/auth/start', headers, from };
      const refused = await relay.send({ ...post, body: '{' });
      expect.status(refused, 400);
      expectAllowed(refused, origin);
      const unknown = await relay.send({ path: '/auth/result?session=nosuch', headers });
      expect.status(unknown, 410);
      expectAllowed(unknown, origin);
      expectAllowed(await relay.poll(await relay.start(), { wait: '1' }, { headers }), origin);
    }
  });

  test('On request: an origin that is not listed gets no CORS header, and OPTIONS is 405', async (kit) => {
    for (const origin of UNLISTED_ORIGINS) {
      for (const { method, path } of DEVICE_ROUTES) {
        const answer = await preflight(kit, path, method, origin);
        expect.status(answer, 405);
        expectNoCors(answer);
      }
      const { pollSecret } = await kit.relay.start();
      const path = `/auth/result?${new URLSearchParams({ session: `${pollSecret}x` })}`;
      expectNoCors(await kit.relay.send({ path, headers: { Origin: origin } }));
    }
    const plain = await kit.relay.postStart({ service: SERVICE_A });
    expect.json(plain);
    expectNoCors(plain);
  });

  test('On request: no page that a browser opens has a CORS header, for listed origins either', async (kit) => {
    const session = await kit.relay.start();
    const callback = `/auth/${session.service}/callback?state=nosuch&code=x`;
    const ofCode = kit.options.extensions.has('user-code') ? ['/L/BCDF-GHJK'] : [];
    for (const path of [linkPath(session), callback, '/auth/done', ...ofCode]) {
      for (const origin of LISTED_ORIGINS) {
        const refused = await preflight(kit, path, 'GET', origin);
        expect.status(refused, 405);
        expectNoCors(refused);
        expectNoCors(await kit.relay.send({ path, headers: { Origin: origin } }));
      }
    }
  });
});
