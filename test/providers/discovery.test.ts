import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider as OidcProvider } from 'oidc-provider/lib/provider.js';
import { DISCOVERY_BYTES } from '../../src/limits.ts';
import {
  type Discovery,
  discoverProvider,
  type ProviderToDiscover,
} from '../../src/providers/discovery.ts';
import type { Fetch } from '../../src/providers/token-endpoint.ts';
import { createSelfSigned } from '../support/self-signed.ts';

/** The issuer's server: answers what `answers` holds for a path, else 404, and notes what it was asked. */
let server: Bun.Server<undefined>;
let origin: string;
let answers: Record<string, () => Response | Promise<Response>>;
let asked: string[];

beforeAll(() => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      return answers[pathname]?.() ?? new Response('not here', { status: 404 });
    },
  });
  origin = `http://127.0.0.1:${server.port}`;
});
afterAll(() => server.stop(true));
beforeEach(() => {
  answers = {};
  asked = [];
});

const OPENID = '/.well-known/openid-configuration';
const OAUTH = '/.well-known/oauth-authorization-server';

const endpoints = {
  authorization_endpoint: 'https://acme.example/authorize',
  token_endpoint: 'https://acme.example/token',
};

function acme(given: Partial<ProviderToDiscover> = {}): ProviderToDiscover {
  const asked = { name: 'acme', displayName: 'Acme', issuer: origin, clientId: 'id' };
  return { ...asked, authorizeParams: {}, ...given };
}

/** Serves a document at the OpenID address and asks for it. */
function discover(
  document: Record<string, unknown>,
  given: Partial<ProviderToDiscover> = {},
): Promise<Discovery> {
  answers[OPENID] = () => Response.json({ issuer: origin, ...endpoints, ...document });
  return discoverProvider(acme(given), fetch);
}

function problemOf(discovery: Discovery): string {
  return discovery.ok ? 'no problem' : discovery.problem;
}

describe('where the document is', () => {
  test('at the OpenID address: one request, and a provider ready to use', async () => {
    const given = { scope: 'a b', authorizeParams: { prompt: 'login' } };
    expect(await discover({}, given)).toEqual({
      ok: true,
      provider: {
        name: 'acme',
        displayName: 'Acme',
        authorizeUrl: 'https://acme.example/authorize',
        tokenUrl: 'https://acme.example/token',
        clientId: 'id',
        clientAuth: 'post',
        pkce: 'none',
        scope: 'a b',
        authorizeParams: { prompt: 'login' },
      },
    });
    expect(asked).toEqual([OPENID]);
  });

  test.each([
    ['', [OPENID, OAUTH]],
    ['/', [OPENID, OAUTH]],
    ['/realms/tv', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
    ['/realms/tv/', [`/realms/tv${OPENID}`, `${OAUTH}/realms/tv`]],
  ])('issuer path %j: appended for OpenID, inserted for RFC 8414 §3.1', async (path, paths) => {
    const issuer = origin + path;
    answers[paths[1] ?? ''] = () => Response.json({ issuer, ...endpoints });
    expect(await discoverProvider(acme({ issuer }), fetch)).toMatchObject({ ok: true });
    expect(asked).toEqual(paths);
  });

  test('only 404 leads to the second address', async () => {
    answers[OPENID] = () => new Response('', { status: 500 });
    answers[OAUTH] = () => Response.json({ issuer: origin, ...endpoints });
    const discovery = await discoverProvider(acme(), fetch);
    expect(problemOf(discovery)).toBe(`${origin}${OPENID} answered 500`);
    expect(asked).toEqual([OPENID]);
  });

  test('a redirect is not followed', async () => {
    answers[OPENID] = () => Response.redirect(`${origin}/elsewhere`, 302);
    answers['/elsewhere'] = () => Response.json({ issuer: origin, ...endpoints });
    expect(problemOf(await discoverProvider(acme(), fetch))).toBe(
      `${origin}${OPENID} answered 302`,
    );
    expect(asked).toEqual([OPENID]);
  });
});

test('a certified server (oidc-provider) is understood', async () => {
  let handle: RequestListener = () => {};
  const http = createServer((request, response) => handle(request, response)).listen(0);
  const { port } = http.address() as AddressInfo;
  const issuer = `http://localhost:${port}`;
  handle = new OidcProvider(issuer, {}).callback();
  try {
    const discovery = await discoverProvider(acme({ issuer, clientSecret: 's' }), fetch);
    expect(discovery).toMatchObject({
      ok: true,
      provider: {
        authorizeUrl: `${issuer}/auth`,
        tokenUrl: `${issuer}/token`,
        pkce: 'S256',
        clientAuth: 'post',
      },
    });
  } finally {
    http.close();
  }
});

describe('what the document may say', () => {
  test.each([
    [['plain', 'S256'], 'S256'],
    [['plain'], 'plain'],
    [['S512'], 'none'],
    [[], 'none'],
    [undefined, 'none'],
    [null, 'none'],
  ])('code_challenge_methods_supported %j: PKCE %s', async (methods, pkce) => {
    const discovery = await discover({ code_challenge_methods_supported: methods });
    expect(discovery).toMatchObject({ ok: true, provider: { pkce } });
  });

  test.each([
    [undefined, 'basic'],
    [['client_secret_basic'], 'basic'],
    [['client_secret_basic', 'client_secret_post'], 'post'],
    [['private_key_jwt', 'client_secret_post'], 'post'],
  ])(
    'token_endpoint_auth_methods_supported %j: the secret goes by %s',
    async (methods, clientAuth) => {
      const document = { token_endpoint_auth_methods_supported: methods };
      const discovery = await discover(document, { clientSecret: 'hunter2' });
      expect(discovery).toMatchObject({
        ok: true,
        provider: { clientAuth, clientSecret: 'hunter2' },
      });
    },
  );

  test('an issuer that takes no secret in a way we have is a problem, unless there is none', async () => {
    const document = { token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] };
    const problem = problemOf(await discover(document, { clientSecret: 'hunter2' }));
    expect(problem).toContain('neither by post nor basic');
    expect(problem).not.toContain('hunter2');
    expect(await discover(document)).toMatchObject({ ok: true, provider: { clientAuth: 'post' } });
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
    expect(await discover(document, given)).toMatchObject({ ok: true, provider: given });
  });
});

test('parameters of its own an address may have, if the relay sets none of that name', async () => {
  const authorizeUrl = 'https://acme.example/authorize?tenant=1';
  const tokenUrl = 'https://acme.example/token?tenant=1';
  const document = { authorization_endpoint: authorizeUrl, token_endpoint: tokenUrl };
  expect(await discover(document)).toMatchObject({
    ok: true,
    provider: { authorizeUrl, tokenUrl },
  });
});

describe('plain http on this machine', () => {
  const here = 'http://127.0.0.1:9/x';

  test('is where an issuer that is here itself may lead', async () => {
    const document = { authorization_endpoint: here, token_endpoint: here };
    expect(await discover(document)).toMatchObject({ ok: true });
  });

  test.each(['authorization_endpoint', 'token_endpoint'])(
    'is not where an issuer over https may: %s',
    async (field) => {
      using secure = Bun.serve({
        port: 0,
        tls: await createSelfSigned(),
        fetch: ({ url }: Request): Response =>
          Response.json({ issuer: new URL(url).origin, ...endpoints, [field]: here }),
      });
      const issuer = `https://localhost:${secure.port}`;
      const trusting: Fetch = (url, init) =>
        fetch(url, { ...init, tls: { rejectUnauthorized: false } });
      expect(problemOf(await discoverProvider(acme({ issuer }), trusting))).toBe(
        `${issuer}: ${field} is "${here}": it must be https, as its issuer is`,
      );
      const given = { authorizeUrl: here, tokenUrl: here };
      // The operator's own word counts.
      expect(await discoverProvider(acme({ issuer, ...given }), trusting)).toMatchObject({
        ok: true,
        provider: given,
      });
    },
  );
});

describe('what is not believed', () => {
  test.each([
    ['another issuer', () => 'https://evil.example'],
    ['a slash more', () => `${origin}/`],
    ['another case', () => origin.replace('http', 'HTTP')],
  ])('a document of %s (RFC 8414 §3.3)', async (_, issuer) => {
    expect(problemOf(await discover({ issuer: issuer() }))).toBe(
      `the issuer ${origin} calls itself ${JSON.stringify(issuer())}`,
    );
  });

  test.each([
    ['authorization_endpoint', undefined, 'must be an address'],
    ['token_endpoint', undefined, 'must be an address'],
    ['token_endpoint', 'http://acme.example/token', 'must be https'],
    ['token_endpoint', 'https://me:pw@acme.example/token', 'must hold no user name'],
    ['token_endpoint', 'https://acme.example/token#x', 'must hold no fragment'],
    ['authorization_endpoint', 'javascript:alert(1)', 'must be an address'],
    ['authorization_endpoint', 'https://acme.example/a?client_id=evil', 'must not hold client_id'],
    ['authorization_endpoint', 'https://acme.example/a?a=1&state=fixed', 'must not hold state'],
    ['authorization_endpoint', 'https://acme.example/a?redirect%5Furi=x', 'must not hold redirect'],
    ['token_endpoint', 'https://acme.example/t?client_id=evil', 'must not hold client_id'],
    ['token_endpoint', 'https://acme.example/t?code=x', 'must not hold code'],
  ])('%s %j', async (field, address, problem) => {
    const text = problemOf(await discover({ [field]: address }));
    expect(text).toContain(`${field} is `);
    expect(text).toContain(problem);
  });

  test.each([
    ['no JSON', () => new Response('<html>')],
    ['not an object', () => Response.json([])],
    ['no issuer', () => Response.json(endpoints)],
    ['a number for an address', () => Response.json({ issuer: origin, token_endpoint: 1 })],
    ['endless brackets', () => new Response('['.repeat(200_000))],
    ['not UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0xfe]))],
  ])('an answer that is %s', async (_, answer) => {
    answers[OPENID] = answer;
    expect(problemOf(await discoverProvider(acme(), fetch))).toBe(
      `${origin}${OPENID} is not a discovery document`,
    );
  });

  test('an answer of one byte more than the limit', async () => {
    const document = JSON.stringify({ issuer: origin, ...endpoints });
    answers[OPENID] = () => new Response(document.padEnd(DISCOVERY_BYTES));
    expect(await discoverProvider(acme(), fetch)).toMatchObject({ ok: true });
    answers[OPENID] = () => new Response(document.padEnd(DISCOVERY_BYTES + 1));
    expect(problemOf(await discoverProvider(acme(), fetch))).toContain('is longer than');
  });

  test('an endless answer, whose end is not waited for', async () => {
    answers[OPENID] = () =>
      new Response(
        new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(65_536).fill(32)) }),
      );
    expect(problemOf(await discoverProvider(acme(), fetch))).toBe(
      `${origin}${OPENID} is longer than ${DISCOVERY_BYTES} bytes`,
    );
  });

  test('text of the other side stays on one line and short', async () => {
    const problem = problemOf(await discover({ issuer: `x\n${'y'.repeat(5000)}` }));
    expect(problem).not.toContain('\n');
    expect(problem.length).toBeLessThan(400);
  });
});

describe('an issuer that is not there', () => {
  const never = () => new Promise<Response>(() => {});

  test.each([
    ['that says nothing', () => never()],
    [
      'that stops in the middle',
      () =>
        new Response(
          new ReadableStream({
            start: (stream) => stream.enqueue(new TextEncoder().encode('{"issuer":')),
          }),
        ),
    ],
  ])('one %s is given up', async (_, answer) => {
    answers[OPENID] = answer;
    expect(problemOf(await discoverProvider(acme(), fetch, 50))).toBe(
      `${origin}${OPENID} took too long`,
    );
  });

  test('the two tries share one time', async () => {
    answers[OAUTH] = never;
    expect(problemOf(await discoverProvider(acme(), fetch, 200))).toBe(
      `${origin}${OAUTH} took too long`,
    );
  });

  test('a refused connection is a problem, not an exception', async () => {
    const issuer = 'http://127.0.0.1:1';
    const problem = problemOf(await discoverProvider(acme({ issuer }), fetch));
    expect(problem).toMatch(/^http:\/\/127\.0\.0\.1:1\/\S+ could not be read \(\w+\)$/);
  });

  test('an issuer that is no address is a problem, not an exception', async () => {
    const problem = problemOf(await discoverProvider(acme({ issuer: 'acme' }), fetch));
    expect(problem).toStartWith('the issuer "acme" must be an address');
    expect(asked).toEqual([]);
  });

  test('an error of fetch is told by its code alone', async () => {
    const failing = () =>
      Promise.reject(Object.assign(new Error('hunter2'), { code: 'ECONNRESET' }));
    const problem = problemOf(await discoverProvider(acme(), failing));
    expect(problem).toBe(`${origin}${OPENID} could not be read (ECONNRESET)`);
  });
});
