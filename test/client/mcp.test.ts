/** `sign-in-relay-client/mcp` with the official SDK, at the MCP server of a dev relay and at the example server of the SDK. */
import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from 'bun:test';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type RelayProviderOptions, relayProvider } from '../../client/src/mcp.ts';
import { fileStorage } from '../../client/src/node.ts';
import { createMemory } from '../../client/src/storage.ts';
import { installClient } from '../kit/client-package.ts';
import { startDev } from '../kit/dev.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort, NODE, runChild, startChild } from '../kit/process.ts';
import { scanTerminal } from '../kit/qr.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createVisitor, decision, readLink } from '../kit/user.ts';
import { failureOf, pollUntil, untilShown } from '../kit/wait.ts';

const dev = await startDev({ args: ['--open'] });
const server = new URL(`${dev.providerUrl}/mcp`);

const planNext = (ending: string) => dev.plan({ ending, auto: true, seconds: 1 });

let folder = '';
let links: string[] = [];
beforeEach(() => {
  folder = newFolder();
  links = [];
});

/** A client as in a process of its own: nothing is shared but the folder. */
function createClient(options: Partial<RelayProviderOptions> = {}) {
  const authProvider = relayProvider({
    relay: dev.relayUrl,
    server,
    storage: { ...fileStorage(folder) },
    onPrompt: ({ link }) => void links.push(link),
    ...options,
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const connect = () =>
    client.connect(new StreamableHTTPClientTransport(server, { authProvider }) as Transport);
  const callTool = async (): Promise<unknown> =>
    (await client.callTool({ name: 'whoami' })).content;
  return { authProvider, client, connect, callTool };
}

const ANSWER = [{ type: 'text', text: 'You are Ada.' }];

test.each(['approve', 'slow', 'cut-off', 'restart', 'refresh-rotates'])(
  '%s: connecting shows a link once and waits; the next process shows none',
  async (ending) => {
    await planNext(ending);
    for (const { client, connect, callTool } of [createClient(), createClient()]) {
      await connect();
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['whoami']);
      expect(await callTool()).toEqual(ANSWER);
      expect(await client.ping()).toEqual({});
      expect(links).toHaveLength(1);
    }
    await dev.untilShown('the relay has the code, which the device exchanges itself');
    expect(dev.output()).not.toContain('received tokens');
  },
);

test.each([
  ['deny', 'access_denied'],
  ['no-code', 'missing_code'],
])('%s: connecting ends with %s', async (ending, code) => {
  await planNext(ending);
  await expect(createClient().connect()).rejects.toMatchObject({ code });
});

test('the dev provider names the relay to a client that spells it another way', async () => {
  const relay = dev.relayUrl.replace('127.0.0.1', 'localhost');
  await expect(createClient({ relay }).connect()).rejects.toThrow(dev.relayUrl);
});

/** The server refuses the access token that is stored. */
async function revoke(): Promise<void> {
  const { access_token: token = '' } = (await createClient().authProvider.tokens()) ?? {};
  const body = new URLSearchParams({ client_id: 'sign-in-relay-dev', token: plantSecret(token) });
  expect((await dev.askProvider('/revoke', { method: 'POST', body })).status).toBe(200);
}

test('clients on one storage refresh in turn, and send no refresh token twice', async () => {
  const clients = [createClient(), createClient(), createClient()];
  await planNext('refresh-rotates');
  for (const { connect } of clients) await connect();
  for (let round = 0; round < 3; round += 1) {
    await revoke();
    const answers = await Promise.all(clients.map(({ callTool }) => callTool()));
    expect(answers).toEqual([ANSWER, ANSWER, ANSWER]);
  }
  expect(links).toHaveLength(1);
  expect(dev.output()).toContain('a new refresh token');
  expect(dev.output()).not.toContain('used an old refresh token');
});

test('a refresh token that no longer works shows another link', async () => {
  const { connect, callTool } = createClient();
  await planNext('refresh-refused');
  await connect();
  await revoke();
  await planNext('approve');
  expect(await callTool()).toEqual(ANSWER);
  expect(links).toHaveLength(2);
});

const OTHER = 'https://other.example';
const THIRD = 'https://third.example';

/** What the SDK finds at a server. */
const foundAt = (authorizationServerUrl: string, metadata: object = {}) => ({
  authorizationServerUrl,
  authorizationServerMetadata: {
    issuer: authorizationServerUrl,
    authorization_endpoint: `${authorizationServerUrl}/authorize`,
    token_endpoint: `${authorizationServerUrl}/token`,
    ...metadata,
  },
  resourceMetadata: { resource: server.href, scopes_supported: ['a', 'b'] },
});

const RELAY = 'https://relay.example';
const CALLBACK = `${RELAY}/open/callback`;

interface BareOptions extends Partial<RelayProviderOptions> {
  readonly result?: () => Response | Promise<Response>;
  /** What the callback has beside a code and the state. */
  readonly returned?: object;
}

/** A process at a relay whose user comes at once, unless `result` says otherwise. It is asked as the SDK asks. */
function createBare({ result, returned, ...options }: BareOptions = {}) {
  const urls: string[] = [];
  const starts: object[] = [];
  const revoked: string[] = [];
  async function fetch(url: string, init: object): Promise<Response> {
    const { origin, pathname, searchParams } = new URL(url);
    const { body = '', headers } = init as { body?: string; headers: Headers };
    if (pathname === '/revoke') {
      revoked.push(`${origin} ${new URLSearchParams(body).get('token')}`);
      return new Response();
    }
    if (pathname === '/services') return Response.json({ services: [], extensions: ['open'] });
    if (pathname === '/open') {
      const { authorizationUrl, device } = JSON.parse(body);
      urls.push(authorizationUrl);
      starts.push({ device, ...headers });
      const state = new URL(authorizationUrl).searchParams.get('state');
      return Response.json({ session: state, url: `${RELAY}/x`, expiresIn: 600 });
    }
    if (result) return result();
    const callback = { code: 'code', state: searchParams.get('session'), ...returned };
    return Response.json({ callback, redirectUri: CALLBACK });
  }
  const { authProvider } = createClient({ relay: RELAY, fetch, ...options });
  async function start(discovery: ReturnType<typeof foundAt>, client_id = 'client') {
    await authProvider.saveDiscoveryState(discovery);
    await authProvider.saveClientInformation({ client_id });
  }
  return Object.assign(authProvider, { start, urls, starts, revoked });
}

/** The flow of the SDK, at servers that have these documents and answer token requests. Resolves with what they got. */
async function connectAt(
  authProvider: ReturnType<typeof createBare>,
  documents: Readonly<Record<string, object>>,
  answers: object[] = [{ access_token: 'a', token_type: 'Bearer' }],
) {
  const posted: { url: string; authorization: string | null; body: string }[] = [];
  const fetchFn = async (url: string | URL, init: RequestInit = {}) => {
    const { href, pathname } = new URL(url);
    if (pathname.startsWith('/.well-known/')) {
      const document = documents[pathname.split('/')[2] ?? ''];
      return document ? Response.json(document) : new Response('', { status: 404 });
    }
    const body = `${init.body}`;
    posted.push({ url: href, authorization: new Headers(init.headers).get('authorization'), body });
    if (pathname === '/register')
      return Response.json({ ...JSON.parse(body), ...documents.register });
    const next = answers.shift() ?? {};
    return Response.json(next, { status: 'error' in next ? 400 : 200 });
  };
  expect(await auth(authProvider, { serverUrl: server, fetchFn })).toBe('AUTHORIZED');
  return posted;
}

/** Documents of OTHER, and how it registers a client. */
const documentsOf = (metadata: object = {}, registered: object = {}) => {
  const { authorizationServerMetadata, resourceMetadata } = foundAt(OTHER, metadata);
  const register = {
    registration_endpoint: `${OTHER}/register`,
    response_types_supported: ['code'],
  };
  return {
    'oauth-protected-resource': { ...resourceMetadata, authorization_servers: [OTHER] },
    'oauth-authorization-server': { ...register, ...authorizationServerMetadata },
    register: { client_id: 'client', ...registered },
  };
};

const queryOf = (url = '') => Object.fromEntries(new URL(url).searchParams);

test('a client registers, asks for what it may, and sends its secret but not its id', async () => {
  const bare = createBare({ headers: { 'X-App': '1' } });
  const authentication = { token_endpoint_auth_method: 'client_secret_basic' };
  const registered = { client_secret: 'secret', scope: 'c offline_access', ...authentication };
  const [registration, request, ...more] = await connectAt(bare, documentsOf({}, registered));
  expect(more).toBeEmpty();
  expect(JSON.parse(registration?.body ?? '')).toEqual({
    client_name: 'An MCP client',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope: 'a b',
  });
  expect(bare.starts).toEqual([{ device: 'An MCP client', 'X-App': '1' }]);
  const asked = { client_id: 'client', scope: 'c offline_access', prompt: 'consent' };
  expect(queryOf(bare.urls[0])).toMatchObject({ ...asked, resource: server.href });
  expect(request?.authorization).toBe(`Basic ${btoa('client:secret')}`);
  expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual({
    grant_type: 'authorization_code',
    code: 'code',
    redirect_uri: CALLBACK,
    code_verifier: expect.any(String),
    resource: server.href,
  });
});

test('a client that the server knows by its document is not registered', async () => {
  const bare = createBare();
  const documents = documentsOf({ client_id_metadata_document_supported: true });
  expect(await connectAt(bare, documents)).toHaveLength(1);
  expect(queryOf(bare.urls[0])).toMatchObject({ client_id: `${RELAY}/open/client.json` });
  expect(queryOf(bare.urls[0])).not.toHaveProperty('prompt');
});

test('a server without metadata has its endpoints at its root', async () => {
  const http = { relay: 'http://relay.example', allowHttp: true, name: 'Ada' };
  const bare = createBare({ returned: { iss: THIRD }, ...http });
  const posted = await connectAt(bare, { register: { client_id: 'client' } });
  const at = server.origin;
  expect(posted.map(({ url }) => url)).toEqual([`${at}/register`, `${at}/token`]);
  expect(bare.starts).toEqual([{ device: 'Ada' }]);
  expect(bare.urls[0]).toStartWith(`${at}/authorize?`);
  for (const name of ['scope', 'resource']) expect(queryOf(bare.urls[0])).not.toHaveProperty(name);
});

const PROMISED = { authorization_response_iss_parameter_supported: true };

test.each<[string, object, object, boolean]>([
  ['names another issuer', { iss: THIRD }, {}, false],
  ['names whom the server claims to be', { iss: THIRD }, { issuer: THIRD }, false],
  ['names none, and the server claims to be another', {}, { issuer: THIRD }, true],
  ['names none', {}, {}, true],
  ['names none, though the metadata promise it', {}, PROMISED, false],
  ['names the server, as the metadata promise', { iss: OTHER }, PROMISED, true],
  ['has a final slash, as in the metadata', { iss: `${OTHER}/` }, { issuer: `${OTHER}/` }, true],
  // No browser can send the client's state to the relay, but the relay may be hostile itself.
  ['has another state', { state: 'other' }, {}, false],
])('a callback that %s', async (_, returned, metadata, isGood) => {
  const { start, prepareTokenRequest } = createBare({ returned });
  await start(foundAt(OTHER, metadata));
  const requested = prepareTokenRequest();
  if (isGood) await requested;
  else await expect(requested).rejects.toMatchObject({ code: 'refused' });
});

test('a token endpoint may have no path, or move, and scopes have %20 between them', async () => {
  await createBare().start(foundAt(OTHER));
  const { start, prepareTokenRequest, urls } = createBare();
  const moved = { token_endpoint: OTHER, authorization_endpoint: `${OTHER}/moved` };
  await start(foundAt(OTHER, moved));
  expect((await prepareTokenRequest()).get('code')).toBe('code');
  expect(urls[0]).toStartWith(`${OTHER}/moved?scope=a%20b&`);
});

test('token requests are made in turn, in two processes too; the user is asked once', async () => {
  const [one, other] = [createBare(), createBare()];
  const tokens = (nth: number) => ({ access_token: `a${nth}`, refresh_token: `r${nth}` });
  await one.start(foundAt(OTHER));
  const [first, second] = [one.prepareTokenRequest(), one.prepareTokenRequest()];
  await first;
  await one.saveTokens(tokens(1));
  expect((await second).get('refresh_token')).toBe('r1');
  await one.saveTokens(tokens(2));
  await other.start(foundAt(OTHER));
  const both = [one, other].map(async (each) => ({ each, form: await each.prepareTokenRequest() }));
  const faster = await Promise.race(both);
  await faster.each.saveTokens(tokens(3));
  const forms = (await Promise.all(both)).map(({ form }) => form.get('refresh_token'));
  expect(forms.toSorted()).toEqual(['r2', 'r3']);
  expect(links).toHaveLength(1);
});

test('no authorization server gets the code or refresh token of another one', async () => {
  const [first, second] = [createBare(), createBare()];
  await first.start(foundAt(THIRD));
  await first.prepareTokenRequest();
  await second.start(foundAt(OTHER, { revocation_endpoint: `${OTHER}/revoke` }));
  await first.saveTokens({ access_token: 'a', token_type: 'bearer', refresh_token: 'r' });
  expect((await second.prepareTokenRequest()).get('grant_type')).toBe('authorization_code');
  await expect(first.prepareTokenRequest()).rejects.toThrow('connect again');
  await expect(first.saveDiscoveryState(foundAt(OTHER))).rejects.toThrow('restart the client');
  await second.saveTokens({ access_token: 'b', token_type: 'bearer' });
  const third = createBare();
  await third.saveDiscoveryState(foundAt(THIRD));
  expect(third.revoked).toEqual([`${OTHER} b`]);
  const fourth = createBare();
  await fourth.saveDiscoveryState(foundAt(OTHER));
  await third.saveClientInformation({ client_id: 'third' });
  await fourth.saveClientInformation({ client_id: 'fourth' });
  await expect(fourth.prepareTokenRequest()).rejects.toThrow('connect again');
});

test('signing out deletes the tokens, but metadata that are missing for once do not', async () => {
  const { start, prepareTokenRequest, saveTokens } = createBare();
  const endpoints = { token_endpoint: `${THIRD}/token`, revocation_endpoint: `${THIRD}/revoke` };
  await start(foundAt(OTHER, endpoints));
  await prepareTokenRequest();
  await saveTokens({ access_token: 'a', token_type: 'bearer' });
  const next = createBare();
  for (const authorizationServerUrl of [OTHER, `${server.origin}/`]) {
    const found = next.saveDiscoveryState({ authorizationServerUrl });
    await expect(found).rejects.toThrow('try again');
  }
  await next.invalidateCredentials('discovery');
  expect(await createBare().tokens()).toMatchObject({ access_token: 'a' });
  const leaving = createBare();
  await leaving.invalidateCredentials('tokens');
  expect(leaving.revoked).toEqual([`${THIRD} a`]);
  expect(leaving.clientInformation()).toMatchObject({ client_id: 'client' });
  await leaving.invalidateCredentials('client');
  expect(leaving.clientInformation()).toBeUndefined();
  await leaving.invalidateCredentials('all');
  await createBare().saveDiscoveryState({ authorizationServerUrl: `${server.origin}/` });
  const last = createBare();
  await last.start(foundAt(OTHER));
  expect(await last.tokens()).toBeUndefined();
});

test.each([
  ['expired', 'Session not found', 410, undefined],
  ['access_denied', '{"error":"access_denied"}', 200, { client_id: 'client' }],
])('%s rejects, and only a client that the server may have lost is dropped', async (...row) => {
  const [code, text, status, client] = row;
  const bare = createBare({ result: () => new Response(text, { status }) });
  await bare.start(foundAt(OTHER));
  await expect(bare.prepareTokenRequest()).rejects.toMatchObject({ code });
  expect(await bare.clientInformation()).toEqual(client);
});

test('a user is spared while another process has signed in, without a refresh token', async () => {
  const saved = Promise.withResolvers<Response>();
  const [waiting, other] = [createBare({ result: () => saved.promise }), createBare()];
  await waiting.start(foundAt(OTHER));
  const request = waiting.prepareTokenRequest();
  await pollUntil('its link is shown', () => links.length > 0);
  // It has registered a client of its own.
  await other.start(foundAt(OTHER), 'client-2');
  expect(await other.clientInformation()).toMatchObject({ client_id: 'client' });
  await other.prepareTokenRequest();
  // It continues with the link that the user has.
  expect(other.urls).toBeEmpty();
  await other.saveTokens({ access_token: 'a', token_type: 'bearer' });
  saved.resolve(new Response(null, { status: 204 }));
  await expect(request).rejects.toThrow('signed in meanwhile');
  // The server refuses that token, then nobody is signed in any more.
  await other.tokens();
  expect((await other.prepareTokenRequest()).get('code')).toBe('code');
  await other.saveTokens({ access_token: 'b', token_type: 'bearer' });
  await waiting.invalidateCredentials('tokens');
  expect(await waiting.tokens()).toBeUndefined();
  expect((await other.prepareTokenRequest()).get('code')).toBe('code');
  const [before, after] = other.urls.map((url) => queryOf(url).state);
  expect(after).not.toBe(before);
});

test('a storage that fails is named', async () => {
  await createBare().start(foundAt(THIRD));
  const full = () => Promise.reject(new Error('full'));
  for (const [verb, own] of [
    ['read', { getItem: full }],
    ['write', { setItem: full }],
    ['delete', { setItem: full, removeItem: full }],
  ] as const) {
    const { start } = createBare({ storage: { ...fileStorage(folder), ...own } });
    const failed = { code: 'storage_failed', detail: `The storage failed to ${verb}` };
    expect(await failureOf(start(foundAt(OTHER)))).toMatchObject(failed);
  }
});

test.each([
  ['server, even at a long address,', { server: `${server}?key=${'K'.repeat(200)}` }],
  ['relay', { relay: 'https://other-relay.example' }],
])('each %s has a registration and tokens of its own', async (...row) => {
  const first = createBare();
  await first.start(foundAt(OTHER));
  await first.prepareTokenRequest();
  await first.saveTokens({ access_token: 'a', token_type: 'bearer' });
  const other = createBare(row[1]);
  await other.start(foundAt(OTHER), 'client-2');
  expect(other.clientInformation()).toEqual({ client_id: 'client-2' });
  expect(await other.tokens()).toBeUndefined();
});

/** By the fake clock, and storage that answers at once. */
describe('later', () => {
  let isFull = false;
  let storage = createMemory();
  const tokens = (nth: number) => ({ access_token: `a${nth}`, refresh_token: `r${nth}` });

  beforeEach(() => {
    const items = createMemory();
    let last = Promise.resolve();
    storage = {
      ...items,
      setItem(key, value) {
        if (isFull) throw new Error('full');
        items.setItem(key, value);
      },
      lock(_, run) {
        if (isFull) throw new Error('full');
        last = last.then(run);
        return last;
      },
    };
    jest.useFakeTimers();
  });
  afterEach(() => void jest.useRealTimers());

  /** Lets time pass until it is settled, up to so many seconds. */
  async function passUntil<Value>(promise: Promise<Value>, seconds = 600): Promise<Value> {
    const settled = failureOf(promise).then(() => true);
    for (let nth = 0; !(await Promise.race([settled, turn()])); nth += 1) {
      expect(nth).toBeLessThan(seconds);
      jest.advanceTimersByTime(1_000);
    }
    return promise;
  }

  async function startOnce() {
    const bare = createBare({ storage });
    await bare.start(foundAt(OTHER));
    return bare;
  }

  async function signInOnce() {
    const bare = await startOnce();
    await bare.prepareTokenRequest();
    await bare.saveTokens(tokens(1));
    return bare;
  }

  test('tokens that could not be stored after a refresh are not lost', async () => {
    const { prepareTokenRequest, saveTokens, ...bare } = await signInOnce();
    await prepareTokenRequest();
    isFull = true;
    const failed = { code: 'storage_failed' };
    expect(await passUntil(failureOf(saveTokens(tokens(2))))).toMatchObject(failed);
    expect(await failureOf(prepareTokenRequest())).toMatchObject(failed);
    isFull = false;
    expect(await bare.tokens()).toMatchObject({ access_token: 'a2' });
    expect((await prepareTokenRequest()).get('refresh_token')).toBe('r2');
  });

  test('a token request without an answer ends after 17 s, and the next one may follow', async () => {
    const { prepareTokenRequest, saveTokens } = await signInOnce();
    await prepareTokenRequest();
    expect((await passUntil(prepareTokenRequest(), 40)).get('refresh_token')).toBe('r1');
    await saveTokens(tokens(2));
    await expect(saveTokens(tokens(3))).rejects.toThrow('came too late');
  });

  test('a refresh token that is refused is not sent by a process that waited', async () => {
    const both = [await signInOnce(), await startOnce()];
    const forms = both.map(async (each) => ({ each, form: await each.prepareTokenRequest() }));
    const { each: faster } = await Promise.race(forms);
    await passUntil(faster.invalidateCredentials('tokens'));
    const grants = (await Promise.all(forms)).map(({ form }) => form.get('grant_type'));
    expect(grants.toSorted()).toEqual(['authorization_code', 'refresh_token']);
  });

  test('a link is shown once, though the relay does not answer meanwhile', async () => {
    const results = [new Response('', { status: 503 }), Response.json({ error: 'access_denied' })];
    const bare = createBare({ result: () => results.shift() ?? new Response(), storage });
    await bare.start(foundAt(OTHER));
    const failed = await passUntil(failureOf(bare.prepareTokenRequest()));
    expect([failed, links]).toMatchObject([{ code: 'access_denied' }, [`${RELAY}/x`]]);
  });

  test('a client that the server has forgotten at a refresh is registered again', async () => {
    await signInOnce();
    const bare = createBare({ storage });
    const answers = [{ error: 'invalid_client' }, { ...tokens(2), token_type: 'b' }];
    const documents = documentsOf({}, { client_id: 'client-2' });
    const posted = await passUntil(connectAt(bare, documents, answers));
    const paths = posted.map(({ url }) => url.replace(OTHER, ''));
    expect(paths).toEqual(['/token', '/register', '/token']);
    expect(queryOf(bare.urls[0])).toMatchObject({ client_id: 'client-2' });
    expect(await bare.tokens()).toMatchObject({ access_token: 'a2' });
  });
});

/** The five lines of docs/open.md, and what a program has around them. */
const [, fiveLines = ''] =
  /```js\n(const server[\s\S]*?)```/.exec(readFileSync(`${ROOT}docs/open.md`, 'utf8')) ?? [];
const IMPORTS = `
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { relayProvider } from 'sign-in-relay-client/mcp';
import { fileStorage } from 'sign-in-relay-client/node';
const client = new Client({ name: 'a-client', version: '1.0.0' });
`;
const LIST = `
for (const { name } of (await client.listTools()).tools) console.log(name + ': a tool');
await client.close();
`;

const SDK = join(ROOT, 'test/node_modules/@modelcontextprotocol/sdk');
const EXAMPLE = readFileSync(`${ROOT}examples/mcp/client.mjs`, 'utf8');

const [examplePort, authPort] = [await findFreePort(), await findFreePort()];
const relay = await startRelay({
  OPEN_ENDPOINTS: `http://localhost:${authPort}/authorize`,
  PROVIDERS: '',
  MAL_CLIENT_ID: '',
});

/** The user continues; the authorization server asks nothing. */
const answer = (link: string) => createVisitor()(new URL(link), decision('continue'));

/** For the programs below. */
const modules = join(newFolder(), 'node_modules');

beforeAll(async () => {
  await installClient(modules);
  symlinkSync(dirname(SDK), join(modules, '@modelcontextprotocol'));
  symlinkSync(`${ROOT}node_modules/lean-qr`, join(modules, 'lean-qr'));
});

test.each([
  ['examples/mcp/client.mjs', EXAMPLE],
  ['the five lines of docs/open.md', IMPORTS + fiveLines + LIST],
])("%s signs in at the SDK's example server, by Node, and once", async (_, program) => {
  const script = join(SDK, 'dist/esm/examples/server/simpleStreamableHttp.js');
  const example = startChild([NODE, script, '--oauth', '--oauth-strict'], {
    env: { MCP_PORT: `${examplePort}`, MCP_AUTH_PORT: `${authPort}` },
  });
  symlinkSync(modules, join(folder, 'node_modules'));
  const url = `http://localhost:${examplePort}/mcp`;
  const own = program.replace('https://mcp.example/mcp', url);
  const file = join(folder, 'client.mjs');
  writeFileSync(file, own.replace('https://relay.example', relay.baseUrl));
  const command = [NODE, file, relay.baseUrl, url];
  await untilShown(example, 'Server listening');
  const first = startChild(command, { env: { HOME: folder } });
  const link = await readLink(first);
  const code = first
    .output()
    .split('\n')
    .filter((line) => /^[ █]{20,}$/.test(line));
  // The five lines draw none.
  if (program.includes('lean-qr')) expect(scanTerminal(code)).toBe(link);
  await answer(link);
  expect([await first.exited, first.output()]).toEqual([0, expect.stringContaining('greet: ')]);
  const again = await runChild(command, { env: { HOME: folder } });
  expect([again.exitCode, again.output]).toEqual([0, expect.stringMatching(/^greet: /)]);
  example.kill('SIGKILL');
  await example.exited;
});

test('examples/mcp/client.mjs names an error of the SDK that has no message', async () => {
  await planNext('exchange-fails');
  symlinkSync(modules, join(folder, 'node_modules'));
  const file = join(folder, 'client.mjs');
  writeFileSync(file, EXAMPLE);
  const program = startChild([NODE, file, dev.relayUrl, server.href], { env: { HOME: folder } });
  await untilShown(program, /\nServerError\n$/);
  program.kill('SIGKILL');
  await program.exited;
});
