/** Discovery of a provider by its issuer (OpenID Connect Discovery, RFC 8414): what is requested, accepted and refused. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { DISCOVERY_BYTES } from '../../src/limits.ts';
import {
  type Discovery,
  discoverProvider,
  type ProviderToDiscover,
} from '../../src/providers/discovery.ts';
import { poll, start } from '../kit/device.ts';
import { startOpenId } from '../kit/openid.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

/** The issuer's server: it answers what `answers` has for a path, else 404, and records what it was asked. */
let answers: Record<string, () => Response | Promise<Response>> = {};
let asked: string[] = [];
beforeEach(() => {
  answers = {};
  asked = [];
});
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return answers[pathname]?.() ?? new Response('not here', { status: 404 });
  },
});
afterAll(() => server.stop(true));

const origin = `http://127.0.0.1:${server.port}`;
const OPENID = '/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server';
const ENDPOINTS = {
  authorization_endpoint: 'https://acme.example/authorize',
  token_endpoint: 'https://acme.example/token',
};

function acme(given: Partial<ProviderToDiscover> = {}): ProviderToDiscover {
  const asked = { name: 'acme', displayName: 'Acme', issuer: origin, clientId: 'id' };
  return { ...asked, authorizeParams: {}, ...given };
}

/** The outcome for a document at the OpenID address. */
function discover(
  document: Record<string, unknown>,
  given: Partial<ProviderToDiscover> = {},
): Promise<Discovery> {
  answers[OPENID] = () => Response.json({ issuer: origin, ...ENDPOINTS, ...document });
  return discoverProvider(acme(given), fetch);
}

function problemOf(discovery: Discovery): string {
  return discovery.problem ?? 'no problem';
}

describe('the revocation endpoint', () => {
  const revocationOf = async (document: object, given: Partial<ProviderToDiscover> = {}) =>
    (await discover({ ...document }, given)).provider?.revocation;
  const url = 'https://acme.example/revoke';
  const announced = { revocation_endpoint: url };
  const methods = (...names: string[]) => {
    return { ...announced, revocation_endpoint_auth_methods_supported: names };
  };
  const clientSecret = 's';

  test('is the announced one, and a setting overrides it', async () => {
    expect(await revocationOf(announced)).toEqual({ url });
    const own = { url: 'https://acme.example/own' };
    expect(await revocationOf(announced, { revocation: own })).toEqual(own);
  });

  test('gets the client authentication that it announces, or that of the token endpoint', async () => {
    const basic = { url, clientAuth: 'basic' } as const;
    expect(await revocationOf(methods('client_secret_basic'), { clientSecret })).toEqual(basic);
    expect(await revocationOf(methods('client_secret_post'), { clientSecret })).toEqual({
      ...basic,
      clientAuth: 'post',
    });
    expect(await revocationOf(methods('private_key_jwt'), { clientSecret })).toBeUndefined();
  });

  test.each(['http://acme.example/revoke', 'nonsense', 7, null, 'https://acme.example/r?token=x'])(
    'one that cannot be used counts as absent, and users can still sign in: %p',
    async (wrong) => {
      const { provider } = await discover({ revocation_endpoint: wrong });
      expect(provider).toMatchObject({ tokenUrl: ENDPOINTS.token_endpoint });
      expect(provider?.revocation).toBeUndefined();
    },
  );
});

describe('the URL of the document', () => {
  test('is the OpenID address first: one request, and a provider that is ready for use', async () => {
    const given = { scope: 'a b', authorizeParams: { prompt: 'login' } };
    expect(await discover({}, given)).toEqual({
      provider: {
        name: 'acme',
        displayName: 'Acme',
        clientId: 'id',
        clientAuth: 'post',
        pkce: 'none',
        authorizeUrl: 'https://acme.example/authorize',
        tokenUrl: 'https://acme.example/token',
        callbackIssuer: { url: origin, isRequired: false },
        ...given,
      },
    });
    expect(asked).toEqual([OPENID]);
  });

  test.each([
    ['', [OPENID, OAUTH]],
    ['/', [OPENID, OAUTH]],
    ['/realms/tv', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
    ['/realms/tv/', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
  ])(
    'with issuer path %j: appended for OpenID, then inserted as RFC 8414 §3.1 says',
    async (path, paths) => {
      const issuer = origin + path;
      answers[paths[1] ?? ''] = () => Response.json({ issuer, ...ENDPOINTS });
      expect(await discoverProvider(acme({ issuer }), fetch)).toMatchObject({
        provider: { name: 'acme' },
      });
      expect(asked).toEqual(paths);
    },
  );

  test.each([
    ['500', () => new Response('', { status: 500 })],
    ['302', () => Response.redirect(`${origin}/elsewhere`, 302)],
  ])('is the second one only after a 4xx, not after %s', async (status, answer) => {
    answers[OPENID] = answer;
    answers[OAUTH] = () => Response.json({ issuer: origin, ...ENDPOINTS });
    const problem = problemOf(await discoverProvider(acme(), fetch));
    expect(problem).toBe(`${origin}${OPENID} answered ${status}`);
    expect(asked).toEqual([OPENID]);
  });

  test.each([
    ['401', () => new Response('', { status: 401 }), 'answered 401'],
    ['403', () => new Response('', { status: 403 }), 'answered 403'],
    ['410', () => new Response('', { status: 410 }), 'answered 410'],
    ['HTML', () => new Response('<html>'), 'is not a discovery document'],
    ['no endpoints', () => Response.json({ issuer: origin, jwks_uri: 'x' }), 'has no endpoints'],
  ])('after %s is that of RFC 8414; a failure names both', async (_, answer, why) => {
    answers[OPENID] = answer;
    const problem = problemOf(await discoverProvider(acme(), fetch));
    expect(problem).toBe(`${origin}${OPENID} ${why}; ${origin}${OAUTH} answered 404`);
    answers[OAUTH] = () => Response.json({ issuer: origin, ...ENDPOINTS });
    expect((await discoverProvider(acme(), fetch)).provider?.name).toBe('acme');
  });
});

test('the document of a certified server (oidc-provider) is read', async () => {
  const { issuer, stop } = await startOpenId('https://relay.test/callback');
  const discovery = await discoverProvider(acme({ issuer, clientSecret: 's' }), fetch);
  await stop();
  expect(discovery).toMatchObject({
    provider: {
      authorizeUrl: `${issuer}/auth`,
      tokenUrl: `${issuer}/token`,
      pkce: 'S256',
      clientAuth: 'post',
    },
  });
});

describe('what the document may say', () => {
  test.each([
    [['plain', 'S256'], 'S256'],
    [['plain'], 'plain'],
    [['S512'], 'none'],
    [undefined, 'none'],
  ])('code_challenge_methods_supported %j: PKCE %s', async (methods, pkce) => {
    const discovery = await discover({ code_challenge_methods_supported: methods });
    expect(discovery).toMatchObject({ provider: { pkce } });
  });

  test.each([
    [undefined, 'basic'],
    [['client_secret_basic', 'client_secret_post'], 'post'],
    [['private_key_jwt', 'client_secret_post'], 'post'],
  ])(
    'token_endpoint_auth_methods_supported %j: the secret is sent by %s',
    async (methods, clientAuth) => {
      const document = { token_endpoint_auth_methods_supported: methods };
      const provider = { clientAuth, clientSecret: 'hunter2' };
      const discovery = await discover(document, { clientSecret: 'hunter2' });
      expect(discovery).toMatchObject({ provider });
    },
  );

  test('an issuer that takes no secret by post or basic is a problem, if there is one', async () => {
    const document = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] };
    const problem = problemOf(await discover(document, { clientSecret: 'hunter2' }));
    expect(problem).toContain('neither by post nor basic');
    expect(problem).not.toContain('hunter2');
    expect(await discover(document)).toMatchObject({ provider: { clientAuth: 'post' } });
  });

  test('settings override all of it', async () => {
    const given = {
      authorizeUrl: 'https://other.example/a',
      tokenUrl: 'https://other.example/t',
      pkce: 'plain',
      clientAuth: 'basic',
    } as const;
    const document = {
      authorization_endpoint: undefined,
      token_endpoint: 'http://acme.example/token',
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    };
    expect(await discover(document, given)).toMatchObject({ provider: given });
  });
});

// An issuer may send `iss` although its metadata do not say so, such as Google's.
test.each<[boolean | undefined, iss: string, error: string | undefined]>([
  [true, '', 'authorization_failed'],
  [true, '&iss=', 'authorization_failed'],
  [true, '&iss=https%3A%2F%2Fevil.example', 'authorization_failed'],
  [true, `&iss=${encodeURIComponent(origin)}`, undefined],
  [undefined, '&iss=https%3A%2F%2Fevil.example', 'authorization_failed'],
  [undefined, `&iss=${encodeURIComponent(origin)}`, undefined],
  [undefined, '', undefined],
])('RFC 9207: metadata say %p, the callback %j', async (isAnnounced, iss, error) => {
  const log = captureLog();
  const announced = { authorization_response_iss_parameter_supported: isAnnounced };
  const exchanges: string[] = [];
  const service = createTestService(
    { providers: [acme()] },
    {
      async fetch(url) {
        if (url.includes('.well-known')) {
          return Response.json({ issuer: origin, ...ENDPOINTS, ...announced });
        }
        exchanges.push(url);
        return Response.json({ access_token: 'granted' });
      },
    },
  );
  await service.discover();
  const { session, state } = await start(service, 'acme');
  await callback(service, state, `code=c${iss}`, 'acme');
  const result = error === undefined ? { accessToken: 'granted' } : { error };
  expect(await (await poll(service, session)).json()).toEqual(result);
  expect(exchanges).toHaveLength(error === undefined ? 1 : 0);
  const hints = log.named('authorization_failed').map(({ hint }) => hint);
  expect(hints).toEqual(error === undefined ? [] : [expect.stringContaining('ACME_ISSUER')]);
});

describe('an address on this machine, by plain http', () => {
  const here = 'http://127.0.0.1:9/x';

  test('is accepted from an issuer on this machine', async () => {
    const document = { authorization_endpoint: here, token_endpoint: here };
    expect(await discover(document)).toMatchObject({ provider: { name: 'acme' } });
  });

  test.each(['authorization_endpoint', 'token_endpoint'])(
    'is not accepted from an issuer over https, but from the operator: %s',
    async (field) => {
      const issuer = 'https://acme.example';
      const document = { issuer, ...ENDPOINTS, [field]: here };
      const overTls = async () => Response.json(document);
      expect(problemOf(await discoverProvider(acme({ issuer }), overTls))).toBe(
        `${issuer}: ${field} is "${here}": it must be https, as its issuer is`,
      );
      const provider = { authorizeUrl: here, tokenUrl: here };
      const given = acme({ issuer, ...provider });
      expect(await discoverProvider(given, overTls)).toMatchObject({ provider });
    },
  );
});

describe('what is refused', () => {
  test.each([
    ['another issuer', 'https://evil.example', 'check'],
    ['a slash more', `${origin}/`, 'write it so in'],
    ['another case', origin.replace('http', 'HTTP'), 'check'],
  ])('RFC 8414 §3.3: a document of %s', async (_, issuer, remedy) => {
    expect(problemOf(await discover({ issuer }))).toBe(
      `the issuer ${origin} calls itself ${JSON.stringify(issuer)}: ${remedy} ACME_ISSUER`,
    );
  });

  test.each([
    ['authorization_endpoint', undefined, 'must be a URL'],
    ['token_endpoint', 'http://acme.example/token', 'must be https'],
    ['authorization_endpoint', 'javascript:alert(1)', 'must be a URL'],
    [
      'authorization_endpoint',
      'https://acme.example/a?client_id=evil',
      'must not contain client_id',
    ],
    [
      'authorization_endpoint',
      'https://acme.example/a?redirect%5Furi=x',
      'must not contain redirect',
    ],
    ['token_endpoint', 'https://acme.example/t?client_id=evil', 'must not contain client_id'],
  ])('%s %j', async (field, address, problem) => {
    const text = problemOf(await discover({ [field]: address }));
    expect(text).toContain(`${field} is `);
    expect(text).toContain(problem);
  });

  test.each([
    ['no JSON', () => new Response('<html>')],
    ['without an issuer', () => Response.json(ENDPOINTS)],
    ['with a number for an address', () => Response.json({ issuer: origin, token_endpoint: 1 })],
    ['nested without end', () => new Response('['.repeat(200_000))],
    ['not UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0xfe]))],
  ])('an answer that is %s', async (_, answer) => {
    answers[OPENID] = answer;
    expect(problemOf(await discoverProvider(acme(), fetch))).toStartWith(
      `${origin}${OPENID} is not a discovery document;`,
    );
  });

  test('an answer that is longer than the limit, by a byte or endless', async () => {
    const document = JSON.stringify({ issuer: origin, ...ENDPOINTS });
    const endless = () =>
      new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536).fill(32)) });
    answers[OPENID] = () => new Response(document.padEnd(DISCOVERY_BYTES));
    expect(await discoverProvider(acme(), fetch)).toMatchObject({ provider: { name: 'acme' } });
    for (const body of [() => document.padEnd(DISCOVERY_BYTES + 1), endless]) {
      answers[OPENID] = () => new Response(body());
      expect(problemOf(await discoverProvider(acme(), fetch))).toBe(
        `${origin}${OPENID} is longer than ${DISCOVERY_BYTES} bytes`,
      );
    }
  });
});

describe('an issuer that cannot be reached is a problem, not an exception', () => {
  const never = () => new Promise<Response>(() => {});
  const stalling = () =>
    new Response(
      new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode('{"issuer":')),
      }),
    );

  test.each<[string, string, () => Response | Promise<Response>]>([
    ['one that does not answer', OPENID, never],
    ['one that stops in the middle', OPENID, stalling],
    ['one whose second address does not answer: both share one deadline', OAUTH, never],
  ])('%s', async (_, path, answer) => {
    answers[path] = answer;
    const problem = problemOf(await discoverProvider(acme(), fetch, 200));
    expect(problem).toEndWith(`${origin}${path} took too long`);
  });

  test('an error of fetch, of which only the code is shown', async () => {
    const failing = () =>
      Promise.reject(Object.assign(new Error('hunter2'), { code: 'ECONNRESET' }));
    const problem = problemOf(await discoverProvider(acme(), failing));
    expect(problem).toBe(`${origin}${OPENID} could not be read (ECONNRESET)`);
  });
});
