/** Discovery of a provider by its issuer (OpenID Connect Discovery, RFC 8414): what is requested, accepted and refused. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { DISCOVERY_BYTES } from '../../src/limits.ts';
import { discoverProvider, type ProviderToDiscover } from '../../src/providers/discovery.ts';
import { poll, start } from '../kit/device.ts';
import { startOpenId } from '../kit/openid.ts';
import { serveUpstream } from '../kit/provider.ts';
import { acmeAt, captureLog, createTestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';

/** The issuer's server: it answers what `answers` has for a path, else 404. */
let answers: Record<string, () => Response | Promise<Response>> = {};
beforeEach(() => {
  answers = {};
  requests.length = 0;
});
const server = serveUpstream((request) => {
  const { pathname } = new URL(request.url);
  return answers[pathname]?.() ?? new Response('not here', { status: 404 });
});
const { requests } = server;

const { origin } = server;
const asked = () => requests.map(({ path }) => path);
const OPENID = '/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server';
const ENDPOINTS = {
  authorization_endpoint: 'https://acme.example/authorize',
  token_endpoint: 'https://acme.example/token',
};

type Given = Partial<ProviderToDiscover>;

function acme(given: Given = {}): ProviderToDiscover {
  return { ...acmeAt(origin), ...given };
}

/** The outcome for a document at the OpenID address. */
function discover(document: object, given: Given = {}) {
  answers[OPENID] = () => Response.json({ issuer: origin, ...ENDPOINTS, ...document });
  return discoverProvider(acme(given), fetch);
}

const problemOf = (discovery: { readonly problem?: string | undefined }) =>
  discovery.problem ?? 'no problem';

test('one request to the OpenID address, and a provider that is ready for use', async () => {
  const given = { scope: 'a b', authorizeParams: { prompt: 'login' } };
  expect(await discover({}, given)).toEqual({
    provider: {
      name: 'acme',
      displayName: 'Acme',
      clientId: 'acme-client',
      clientAuth: 'post',
      pkce: 'none',
      authorizeUrl: 'https://acme.example/authorize',
      tokenUrl: 'https://acme.example/token',
      callbackIssuer: { url: origin, isRequired: false },
      ...given,
    },
  });
  expect(asked()).toEqual([OPENID]);
});

test.each([
  ['', [OPENID, OAUTH]],
  ['/', [OPENID, OAUTH]],
  ['/realms/tv', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
  ['/realms/tv/', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
])('issuer path %j: appended for OpenID, then inserted (RFC 8414 §3.1)', async (path, paths) => {
  const issuer = origin + path;
  answers[paths[1] ?? ''] = () => Response.json({ issuer, ...ENDPOINTS });
  const discovery = await discoverProvider(acme({ issuer }), fetch);
  expect(discovery.provider?.name).toBe('acme');
  expect(asked()).toEqual(paths);
});

const NO_DOCUMENT = ['is not a discovery document', true] as const;

test.each<[string, () => Response, why: string, isMissing: boolean]>([
  ['500', () => new Response('', { status: 500 }), 'answered 500', false],
  ['302', () => Response.redirect(`${origin}/elsewhere`, 302), 'answered 302', false],
  ['401', () => new Response('', { status: 401 }), 'answered 401', true],
  ['HTML', () => new Response('<html>'), ...NO_DOCUMENT],
  ['no issuer', () => Response.json(ENDPOINTS), ...NO_DOCUMENT],
  ['a number', () => Response.json({ issuer: origin, token_endpoint: 1 }), ...NO_DOCUMENT],
  ...['code_challenge_methods_supported', 'token_endpoint_auth_methods_supported'].map(
    (member): [string, () => Response, string, boolean] => [
      `${member} that is no list`,
      () => Response.json({ issuer: origin, ...ENDPOINTS, [member]: 1 }),
      ...NO_DOCUMENT,
    ],
  ),
  ['endless nesting', () => new Response('['.repeat(200_000)), ...NO_DOCUMENT],
  ['no UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0xfe])), ...NO_DOCUMENT],
  ['no endpoints', () => Response.json({ issuer: origin }), 'has no endpoints', true],
])('after %s the address of RFC 8414 is asked only if nothing is there', async (...row) => {
  const [, answer, why, isMissing] = row;
  answers[OPENID] = answer;
  const problem = problemOf(await discoverProvider(acme(), fetch));
  const second = isMissing ? `; ${origin}${OAUTH} answered 404` : '';
  expect(problem).toBe(`${origin}${OPENID} ${why}${second}`);
  answers[OAUTH] = () => Response.json({ issuer: origin, ...ENDPOINTS });
  const found = (await discoverProvider(acme(), fetch)).provider?.name;
  expect(found).toBe(isMissing ? 'acme' : undefined);
});

test('the document of a certified server (oidc-provider) is read', async () => {
  const { issuer, stop } = await startOpenId('https://relay.test/callback');
  const discovery = await discoverProvider(acme({ issuer, clientSecret: 's' }), fetch);
  await stop();
  expect(discovery.provider).toMatchObject({
    authorizeUrl: `${issuer}/auth`,
    tokenUrl: `${issuer}/token`,
    pkce: 'S256',
    clientAuth: 'post',
    callbackIssuer: { url: issuer, isRequired: true },
  });
});

const SECRET = { clientSecret: 'hunter2' };
const OWN = { authorizeUrl: 'https://other.example/a', tokenUrl: 'https://other.example/t' };
const HERE = 'http://127.0.0.1:9/x';
const url = 'https://acme.example/revoke';
const OWN_REVOCATION = { url: `${url}/own` };
const methodsOf = (endpoint: string, ...methods: string[]) => {
  return { [`${endpoint}_endpoint_auth_methods_supported`]: methods };
};
const challenges = (...methods: string[]) => ({ code_challenge_methods_supported: methods });
const revocable = (...methods: string[]) => {
  return { revocation_endpoint: url, ...methodsOf('revocation', ...methods) };
};

test.each<[document: object, given: Given, provider: object]>([
  [challenges('plain', 'S256'), {}, { pkce: 'S256' }],
  [challenges('plain'), {}, { pkce: 'plain' }],
  [challenges('S512'), {}, { pkce: 'none' }],
  [{}, SECRET, { clientAuth: 'basic', ...SECRET }],
  // Some servers write null for what they don't have.
  [
    { code_challenge_methods_supported: null, token_endpoint_auth_methods_supported: null },
    SECRET,
    { pkce: 'none', clientAuth: 'basic' },
  ],
  [methodsOf('token', 'client_secret_basic', 'client_secret_post'), SECRET, { clientAuth: 'post' }],
  // A public client does not authenticate.
  [methodsOf('token', 'private_key_jwt', 'none'), {}, { clientAuth: 'post' }],
  // A setting counts before the document.
  [
    { token_endpoint: 'http://acme.example/token', ...challenges('S256') },
    { ...OWN, pkce: 'plain', clientAuth: 'basic' },
    { ...OWN, pkce: 'plain', clientAuth: 'basic' },
  ],
  [{ authorization_endpoint: HERE, token_endpoint: HERE }, {}, { tokenUrl: HERE }],
  [{ revocation_endpoint: url }, {}, { revocation: { url } }],
  [{ revocation_endpoint: url }, { revocation: OWN_REVOCATION }, { revocation: OWN_REVOCATION }],
  [revocable('client_secret_basic'), SECRET, { revocation: { url, clientAuth: 'basic' } }],
  [
    { revocation_endpoint: url, revocation_endpoint_auth_methods_supported: 1 },
    SECRET,
    { revocation: { url } },
  ],
  // Users can still sign in.
  [revocable('private_key_jwt'), SECRET, { revocation: undefined }],
  ...['http://acme.example/revoke', 'nonsense', 7, null, `${url}?token=x`].map(
    (revocation_endpoint): [object, Given, object] => [
      { revocation_endpoint },
      {},
      { revocation: undefined },
    ],
  ),
])('the document %j, with the settings %j, gives %j', async (document, given, provider) => {
  const found = (await discover(document, given)).provider;
  expect({ revocation: undefined, ...found }).toMatchObject(provider);
});

test.each<[document: object, given: Given, problem: string]>([
  [
    methodsOf('token', 'private_key_jwt'),
    SECRET,
    'does not accept client_secret_post or client_secret_basic',
  ],
  [{ require_pushed_authorization_requests: true }, {}, 'only pushed authorization requests'],
  [
    { issuer: 'https://evil.example' },
    {},
    'names the issuer "https://evil.example": check ACME_ISSUER',
  ],
  [
    { issuer: `${origin}/` },
    {},
    `names the issuer "${origin}/": write exactly that in ACME_ISSUER`,
  ],
  [{ issuer: origin.replace('http', 'HTTP') }, {}, ': check ACME_ISSUER'],
  [{ authorization_endpoint: undefined }, {}, 'authorization_endpoint is "": it must be a URL'],
  [{ token_endpoint: 'http://acme.example/token' }, {}, 'must be https'],
  [{ authorization_endpoint: 'javascript:alert(1)' }, {}, 'must be a URL'],
  [{ authorization_endpoint: 'https://acme.example/a?client_id=evil' }, {}, 'contain client_id'],
  [{ authorization_endpoint: 'https://acme.example/a?redirect%5Furi=x' }, {}, 'contain redirect'],
  [{ token_endpoint: 'https://acme.example/t?client_id=evil' }, {}, 'must not contain client_id'],
])('what the document may not say: %j', async (document, given, expected) => {
  const problem = problemOf(await discover(document, given));
  expect(problem).toContain(expected);
  expect(problem).not.toContain('hunter2');
});

// Google sends `iss` although its metadata do not say so, and some issuers leave it out of errors.
test.each<[boolean | undefined, callback: string, error: string | undefined]>([
  [true, 'code=c', 'authorization_failed'],
  [true, 'code=c&iss=', 'authorization_failed'],
  [true, 'code=c&iss=https%3A%2F%2Fevil.example', 'authorization_failed'],
  [true, `code=c&iss=${encodeURIComponent(origin)}`, undefined],
  [true, 'error=access_denied', 'access_denied'],
  [undefined, 'code=c&iss=https%3A%2F%2Fevil.example', 'authorization_failed'],
  [undefined, `code=c&iss=${encodeURIComponent(origin)}`, undefined],
  [undefined, 'code=c', undefined],
])('RFC 9207: metadata say %p, the callback %j', async (isAnnounced, query, error) => {
  const log = captureLog();
  const announced = { authorization_response_iss_parameter_supported: isAnnounced };
  const document = { issuer: origin, ...ENDPOINTS, ...announced };
  const service = createTestService({
    providers: [acme()],
    fetch: async () => Response.json({ ...document, access_token: 'granted' }),
  });
  await service.discover();
  const { session, state } = await start(service, 'acme');
  await callback(service, state, query, 'acme');
  const result = error === undefined ? { accessToken: 'granted' } : { error };
  expect(await (await poll(service, session)).json()).toEqual(result);
  const exchanges = service.sent.filter(({ fields }) => 'code' in fields);
  expect(exchanges).toHaveLength(error === undefined ? 1 : 0);
  const hints = log.named('authorization_failed').map(({ hint }) => String(hint));
  const isOther = error === 'authorization_failed';
  expect(hints.filter((hint) => hint.includes('RFC 9207'))).toHaveLength(isOther ? 1 : 0);
});

test('plain http here is for operators, not for an https issuer', async () => {
  const issuer = 'https://acme.example';
  const overTls = async () => Response.json({ issuer, ...ENDPOINTS, token_endpoint: HERE });
  expect(problemOf(await discoverProvider(acme({ issuer }), overTls))).toBe(
    `${issuer}: token_endpoint is "${HERE}": it must be https, as its issuer is`,
  );
  const provider = { authorizeUrl: HERE, tokenUrl: HERE };
  const given = acme({ issuer, ...provider });
  expect(await discoverProvider(given, overTls)).toMatchObject({ provider });
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
