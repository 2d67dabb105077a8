/** The code exchange as the provider sees it, and what is believed of its answer. */
import { afterEach, describe, expect, test } from 'bun:test';
import { TOKEN_RESPONSE_BYTES } from '../../src/limits.ts';
import { exchangeCode } from '../../src/providers/exchange.ts';
import { createRequestTokens } from '../../src/providers/token-endpoint.ts';
import { systemClock } from '../../src/relay/clock.ts';
import { fetchUpstream } from '../../src/serve.ts';
import {
  exchangeAt,
  GRANT,
  outcomeAt,
  providerAt,
  serveUpstream,
  stopUpstreams,
} from '../support/upstream.ts';

afterEach(stopUpstreams);

const json = (body: string) => () => new Response(body);

describe('the request', () => {
  test('is a form with a bare content type, and asks for JSON uncompressed', async () => {
    const upstream = serveUpstream(json('{"access_token":"a"}'));
    await exchangeAt(upstream.url);
    const [request] = upstream.requests;
    expect(request?.method).toBe('POST');
    expect(request?.headers.get('content-type')).toBe('application/x-www-form-urlencoded');
    expect(request?.headers.get('accept')).toBe('application/json');
    expect(request?.headers.get('accept-encoding')).toBe('identity');
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
      grant_type: 'authorization_code',
      code: 'the code',
      redirect_uri: 'https://relay.test/auth/x/callback',
      client_id: 'client',
    });
  });

  test.each([
    ['post', { client_id: 'client', client_secret: 's&c:t+' }, null],
    ['basic', {}, `Basic ${btoa('client:s%26c%3At%2B')}`],
  ] as const)(
    'RFC 6749 §2.3.1: %s puts the secret in one place only',
    async (clientAuth, fields, authorization) => {
      const upstream = serveUpstream(json('{"access_token":"a"}'));
      const provider = providerAt(upstream.url, { clientAuth, clientSecret: 's&c:t+' });
      await exchangeCode(createRequestTokens(fetchUpstream, systemClock), provider, GRANT);
      const form = Object.fromEntries(new URLSearchParams(upstream.requests[0]?.body));
      expect(form).toEqual({
        grant_type: 'authorization_code',
        code: GRANT.code,
        redirect_uri: GRANT.redirectUri,
        ...fields,
      });
      expect(upstream.requests[0]?.headers.get('authorization')).toBe(authorization);
    },
  );
});

describe('the answer', () => {
  test.each([
    [
      'everything',
      '{"access_token":"a","refresh_token":"r","expires_in":9}',
      { accessToken: 'a', refreshToken: 'r', expiresIn: 9 },
    ],
    [
      'what is empty or zero is left out',
      '{"access_token":"a","refresh_token":"","expires_in":0}',
      { accessToken: 'a' },
    ],
    [
      'a number as a string is a number',
      '{"access_token":"a","expires_in":"9"}',
      { accessToken: 'a', expiresIn: 9 },
    ],
    [
      'a lifetime that is none is left out',
      '{"access_token":"a","expires_in":true,"refresh_token":5}',
      { accessToken: 'a' },
    ],
    [
      'what the door of RFC 8628 passes on is kept, other fields are not',
      '{"access_token":"a","token_type":"mac","scope":"s","id_token":"i","x":1,"__proto__":{"x":1}}',
      { accessToken: 'a', tokenType: 'mac', scope: 's', idToken: 'i' },
    ],
    ['a byte order mark is no matter', '\uFEFF{"access_token":"a"}', { accessToken: 'a' }],
  ])('§2: %s', async (_, body, tokens) => {
    const { url } = serveUpstream(json(body));
    expect(await exchangeAt(url)).toEqual({ ok: true, tokens });
  });

  test.each([
    ['no access token', '{}', 'no_token'],
    ['an empty one', '{"access_token":""}', 'no_token'],
    ['one that is no string', '{"access_token":7}', 'no_token'],
    ['null', 'null', 'not_json'],
    ['a form', 'access_token=a', 'not_json'],
    ['nothing', '', 'not_json'],
    ['JSON nested without end', '['.repeat(60_000), 'not_json'],
    ['JSON cut short', '{"access_token":"a"', 'not_json'],
  ])('%s is a failed exchange', async (_, body, reason) => {
    const { url } = serveUpstream(json(body));
    expect(await outcomeAt(url)).toBe(reason);
  });

  test('§8: 64 KiB are read, one byte more is not', async () => {
    const padded = (bytes: number) => '{"access_token":"a"}'.padEnd(bytes);
    expect(await outcomeAt(serveUpstream(json(padded(TOKEN_RESPONSE_BYTES))).url)).toBe('tokens');
    expect(await outcomeAt(serveUpstream(json(padded(TOKEN_RESPONSE_BYTES + 1))).url)).toBe(
      'too_large',
    );
  });

  test.each([201, 204, 400, 401, 500, 503])('status %d is a failed exchange', async (status) => {
    const { url } = serveUpstream(
      () => new Response(status === 204 ? null : '{"access_token":"a"}', { status }),
    );
    expect(await exchangeAt(url)).toMatchObject({
      ok: false,
      failure: { reason: 'status', status },
    });
  });

  test('RFC 6749 §5.2: of an error only a standard code is kept for the log', async () => {
    const answer = (error: string) =>
      serveUpstream(() => Response.json({ error, error_description: 'secret' }, { status: 400 }))
        .url;
    expect(await exchangeAt(answer('invalid_client'))).toEqual({
      ok: false,
      failure: {
        reason: 'status',
        status: 400,
        providerError: 'invalid_client',
        refusal: 'invalid_client',
      },
    });
    expect(await exchangeAt(answer('the code was secret'))).toEqual({
      ok: false,
      failure: { reason: 'status', status: 400 },
    });
  });
});
