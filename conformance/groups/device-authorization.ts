/** The device grant: how a device gets its codes (RFC 8628 §3.1, §3.2), and metadata (RFC 8414). */

import * as expect from '../answers.ts';
import { times } from '../async.ts';
import { DEVICE_CODE, devicePath, requestGrant, startGrant, tokenPath } from '../device.ts';
import { equal, holds, matches } from '../expect.ts';
import { FORM, formCall, send } from '../http.ts';
import { SERVICE_A, SERVICE_B } from '../options.ts';
import { cases, type Kit } from '../runner.ts';
import { expectBucket } from './start-limits.ts';
import { USER_CODE } from './user-code.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Well-known URIs come before the path of the base URL. */
const askAtRoot = ({ options }: Kit, path: string) =>
  send(new URL(options.baseUrl).origin, { path });

async function readMetadata(kit: Kit, path: string, service: string) {
  const metadata = expect.oauth(await askAtRoot(kit, path), 200);
  const { options } = kit;
  const issuer = `${options.baseUrl}/oauth2/${service}`;
  for (const [member, expected] of Object.entries({
    issuer,
    token_endpoint: `${issuer}/token`,
    device_authorization_endpoint: `${issuer}/device_authorization`,
    grant_types_supported: [DEVICE_CODE, 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
  })) {
    equal(member, metadata[member], expected);
  }
  const responseTypes = metadata.response_types_supported;
  holds('response_types_supported', Array.isArray(responseTypes), 'a list', responseTypes);
  return metadata;
}

export const deviceAuthorization = cases((test) => {
  test('RFC 8628 §3.2; RFC 8628 §6.1: device_code, user_code, two verification URIs, expires_in, interval; no-store', async (kit) => {
    for (const service of [SERVICE_A, SERVICE_B]) {
      const { fields } = await startGrant(kit, { service });
      matches('user_code', String(fields.user_code), USER_CODE);
      matches('device_code', String(fields.device_code), /^[\w-]{24,}$/);
      equal('verification_uri', fields.verification_uri, `${kit.options.baseUrl}/link`);
      const complete = `${kit.options.baseUrl}/L/${fields.user_code}`;
      equal('verification_uri_complete', fields.verification_uri_complete, complete);
      equal('expires_in', fields.expires_in, kit.options.sessionSeconds);
      // A client that gets no interval might not wait at all.
      equal('interval', fields.interval, 5);
    }
  });

  test('RFC 8628 §3.1: unknown parameters are accepted, as a form or JSON; so is an empty body', async (kit) => {
    await startGrant(kit, { body: 'client_id=any&scope=a+b&novel=x' });
    // RFC 8707 §2: this one may be repeated.
    await startGrant(kit, { body: 'resource=https://a.example&resource=https://b.example' });
    const json = JSON.stringify({ client_id: 'any', scope: 'a b', novel: ['x'] });
    await startGrant(kit, { body: json, headers: JSON_TYPE });
    await startGrant(kit, { body: '' });
    await startGrant(kit, { body: '', headers: JSON_TYPE });
    const Authorization = `Basic ${btoa('any:')}`;
    await startGrant(kit, { headers: { ...FORM, Authorization } });
  });

  test('RFC 6749 §5.2; RFC 6749 §3.2: a repeated parameter, broken JSON and a body of 100 kB: 400 invalid_request', async (kit) => {
    const form = formCall(devicePath(SERVICE_A), {});
    for (const call of [
      { body: 'scope=a&scope=b' },
      { body: '{', headers: JSON_TYPE },
      { body: `x=${'y'.repeat(100_000)}` },
    ]) {
      const from = kit.relay.nextAddress();
      expect.oauthError(await kit.relay.send({ ...form, ...call, from }), 'invalid_request');
    }
  });

  test('RFC 8628 §3.5; RFC 6749 §5.2: it shares the rate limit of /auth/start: 400 slow_down with Retry-After', async (kit) => {
    const from = kit.relay.nextAddress();
    const startedAt = performance.now();
    // All at once: on a slow machine a bucket fills as fast as one request follows another.
    const asked = times(12, async () => [
      await kit.relay.postStart({ service: SERVICE_A }, from),
      (await requestGrant(kit, { from })).answer,
    ]);
    const answers = (await Promise.all(asked)).flat();
    const accepted = answers.filter(({ status }) => status === 200).length;
    expectBucket({ accepted, seconds: (performance.now() - startedAt) / 1000 });
    const refused = answers.filter(({ status }) => status === 400);
    holds('refused', refused.length > 0, 'a 400', refused);
    for (const answer of refused) {
      expect.oauthError(answer, 'slow_down');
      expect.retryAfter(answer);
    }
  });

  test('RFC 6749 §3.2: an unknown service or path: 404 JSON; another method than POST: 405 JSON', async (kit) => {
    for (const path of [devicePath('nosuch'), tokenPath('nosuch'), '/oauth2/', '/oauth2/x/y/z']) {
      expect.oauth(await kit.relay.send(formCall(path, { grant_type: DEVICE_CODE })), 404);
    }
    const revoking = kit.options.extensions.has('revoke') ? [`/oauth2/${SERVICE_B}/revoke`] : [];
    for (const path of [devicePath(SERVICE_A), tokenPath(SERVICE_A), ...revoking]) {
      for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
        const answer = await kit.relay.send({ method, path });
        expect.oauth(answer, 405);
        equal('Allow', answer.headers.allow, 'POST');
      }
    }
  });

  test('RFC 8414 §2; RFC 8414 §3; RFC 8628 §4: each service has its own issuer, with the same metadata at both well-known URIs', async (kit) => {
    const issuerPath = `${new URL(kit.options.baseUrl).pathname.replace(/\/$/, '')}/oauth2`;
    const wellKnown = `/.well-known/oauth-authorization-server${issuerPath}`;
    for (const service of [SERVICE_A, SERVICE_B]) {
      const metadata = await readMetadata(kit, `${wellKnown}/${service}`, service);
      const below = `${issuerPath}/${service}/.well-known/openid-configuration`;
      const openid = await readMetadata(kit, below, service);
      equal('openid-configuration', openid, metadata);
    }
    expect.oauth(await askAtRoot(kit, `${wellKnown}/nosuch`), 404);
  });
});
