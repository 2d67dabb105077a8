/** A device asks for its codes, and what a client reads before it: RFC 8628 §3.1, §3.2, §4; RFC 8414. */

import type { Bench, Case, Group } from '../../engine/case.ts';
import { equal, holds, matches } from '../../engine/expect.ts';
import { formCall } from '../../wire/addresses.ts';
import { exhaust } from '../../wire/exhaust.ts';
import {
  beginGrant,
  DEVICE_CODE,
  devicePath,
  expectOAuthError,
  goOn,
  readOAuth,
  tokenPath,
} from '../../wire/grant.ts';
import { expectAsked, openCode } from '../../wire/person.ts';

const USER_CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/;

const response: Case = {
  section: 'RFC 8628 §3.2, §6.1',
  rule: 'device_code, user_code, both verification URIs, expires_in and interval; no-store',
  covers: ['rfc8628.3.2', 'rfc8628.6.1'],
  async run(bench) {
    const { options } = bench;
    for (const service of [options.serviceA, options.serviceB]) {
      const { fields } = await beginGrant(bench, { service });
      matches('user_code', String(fields.user_code), USER_CODE);
      matches('device_code', String(fields.device_code), /^[\w-]{24,}$/);
      equal('verification_uri', fields.verification_uri, `${options.publicUrl}/link`);
      const complete = `${options.publicUrl}/L/${fields.user_code}`;
      equal('verification_uri_complete', fields.verification_uri_complete, complete);
      equal('expires_in', fields.expires_in, options.sessionSeconds);
      // Every client waits so long; one that finds none may not wait at all.
      equal('interval', fields.interval, 5);
    }
  },
};

const bodies: Case = {
  section: 'RFC 8628 §3.1',
  rule: 'client_id, scope and unknown parameters are accepted, in a form or JSON, or nothing at all',
  covers: ['rfc8628.3.1', 'rfc6749.3.2'],
  async run(bench) {
    const service = bench.options.serviceA;
    const form = formCall(devicePath(service), { client_id: 'any', scope: 'a b', novel: 'x' });
    await beginGrant(bench, { ...form, service });
    const json = { 'Content-Type': 'application/json' };
    const body = JSON.stringify({ client_id: 'any', scope: 'a b', novel: ['x'] });
    await beginGrant(bench, { body, headers: json, service });
    await beginGrant(bench, { body: '', service });
    const basic = { ...form.headers, Authorization: `Basic ${btoa('any:')}` };
    await beginGrant(bench, { headers: basic, service });
  },
};

const deviceName: Case = {
  section: 'RFC 8628 §3.3',
  rule: 'the code leads to a page that names the device, and from there to the provider',
  covers: ['rfc8628.3.3'],
  async run(bench) {
    const service = bench.options.serviceB;
    const form = formCall(devicePath(service), { device: 'Living room' });
    const { session } = await beginGrant(bench, { ...form, service });
    const asked = await openCode(bench, session.userCode, session.from);
    expectAsked(asked, session);
    holds('page', asked.body.includes('Living room'), 'the device', 'another');
    await goOn(bench, session);
  },
};

const refused: Case = {
  section: 'RFC 6749 §5.2',
  rule: 'a repeated parameter, broken JSON and a body without end: 400 invalid_request',
  covers: ['rfc6749.5.2', 'rfc6749.3.2'],
  async run({ target, options }) {
    const path = devicePath(options.serviceA);
    const form = formCall(path, {});
    const post = async (call: object) =>
      target.send({ ...form, ...call, from: await target.sources.next() });
    expectOAuthError(await post({ body: 'scope=a&scope=b' }), 'invalid_request');
    const headers = { 'Content-Type': 'application/json' };
    expectOAuthError(await post({ body: '{', headers }), 'invalid_request');
    expectOAuthError(await post({ body: `x=${'y'.repeat(100_000)}` }), 'invalid_request');
  },
};

const limited: Case = {
  section: 'RFC 8628 §3.5',
  rule: 'an address that begins too many is told so as 400 JSON, by the same limit as /auth/start',
  covers: ['rfc6749.5.2', 'rfc8628.3.5'],
  async run(bench) {
    const { from } = await exhaust(bench);
    const form = formCall(devicePath(bench.options.serviceA), {});
    const answer = await bench.target.send({ ...form, from });
    expectOAuthError(answer, 'slow_down');
    matches('Retry-After', answer.headers['retry-after'], /^[1-9]\d*$/);
  },
};

const elsewhere: Case = {
  section: 'RFC 6749 §3.2',
  rule: 'an unknown service or address is 404 JSON; another method than POST is 405 JSON',
  covers: ['rfc6749.3.2'],
  async run({ target, options }) {
    for (const path of [devicePath('nosuch'), tokenPath('nosuch'), '/oauth2/', '/oauth2/x/y/z']) {
      readOAuth(await target.send(formCall(path, { grant_type: DEVICE_CODE })), 404);
    }
    for (const path of [devicePath(options.serviceA), tokenPath(options.serviceA)]) {
      for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await target.send({ method, path });
        readOAuth(answer, 405);
        equal('Allow', answer.headers.allow, 'POST');
      }
    }
  },
};

async function readMetadata({ target, options }: Bench, path: string, service: string) {
  const metadata = readOAuth(await target.send({ path, isWhole: true }), 200);
  const issuer = `${options.publicUrl}/oauth2/${service}`;
  equal('issuer', metadata.issuer, issuer);
  equal('token_endpoint', metadata.token_endpoint, `${issuer}/token`);
  const device = `${issuer}/device_authorization`;
  equal('device_authorization_endpoint', metadata.device_authorization_endpoint, device);
  const grants = metadata.grant_types_supported;
  equal('grant_types_supported', grants, [DEVICE_CODE, 'refresh_token']);
  const isList = Array.isArray(metadata.response_types_supported);
  holds('response_types_supported', isList, 'a list', metadata.response_types_supported);
  const methods = metadata.token_endpoint_auth_methods_supported;
  equal('token_endpoint_auth_methods_supported', methods, ['none']);
  return metadata;
}

const metadata: Case = {
  section: 'RFC 8414 §2, §3; RFC 8628 §4',
  rule: 'metadata, the same at both well-known places, for each service, with its own issuer',
  covers: ['rfc8414.2', 'rfc8414.3', 'rfc8628.4'],
  async run(bench) {
    const { options } = bench;
    const below = (url: string) => new URL(url).pathname.replace(/\/$/, '');
    for (const service of [options.serviceA, options.serviceB]) {
      const issuerPath = `${below(options.publicUrl)}/oauth2/${service}`;
      const before = `/.well-known/oauth-authorization-server${issuerPath}`;
      const behind = `${below(options.baseUrl)}/oauth2/${service}/.well-known/openid-configuration`;
      const rfc8414 = await readMetadata(bench, before, service);
      equal('openid-configuration', await readMetadata(bench, behind, service), rfc8414);
    }
    const nosuch = `/.well-known/oauth-authorization-server${below(options.publicUrl)}/oauth2/nosuch`;
    readOAuth(await bench.target.send({ path: nosuch, isWhole: true }), 404);
  },
};

export const deviceAuthorization: Group = {
  name: 'device-grant',
  about: 'RFC 8628: how a device asks for its codes, and metadata',
  extension: 'device-grant',
  cases: [response, bodies, deviceName, refused, limited, elsewhere, metadata],
};
