/** `sign-in-relay-client/mcp` with the official SDK: its example server and authorization server, and one that refreshes. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  InvalidGrantError,
  InvalidScopeError,
  InvalidTokenError,
} from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type {
  AuthorizationParams,
  OAuthServerProvider,
} from '@modelcontextprotocol/sdk/server/auth/provider.js';
import {
  createOAuthMetadata,
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type {
  OAuthClientInformationFull,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { relayProvider } from '../../client/src/mcp.ts';
import { fileStorage } from '../../client/src/node.ts';
import { installClient } from '../kit/client-package.ts';
import { newFolder } from '../kit/folder.ts';
import { findFreePort, NODE, runChild, startChild } from '../kit/process.ts';
import { scanTerminal } from '../kit/qr.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createUser, readLink } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const [authPort, serverPort, examplePort, exampleAuthPort] = [
  await findFreePort(),
  await findFreePort(),
  await findFreePort(),
  await findFreePort(),
];
const issuerUrl = new URL(`http://localhost:${authPort}`);
const server = new URL(`http://localhost:${serverPort}/mcp`);

/** Asks its user nothing. A refresh token is good for one use. */
const clients = new Map<string, OAuthClientInformationFull>();
const codes = new Map<string, AuthorizationParams>();
const access = new Map<string, AuthInfo>();
const refresh = new Set<string>();
/** The refresh tokens that it was sent. */
let refreshed: string[] = [];
const AS_USUAL = {
  /** What its callbacks name. Empty: they name none. */
  issuer: issuerUrl.href,
  promisesIssuer: false,
  /** What its metadata name. */
  namedIssuer: issuerUrl.href,
  refusesScope: false,
  choice: 'continue',
};
/** How it and the user behave. */
const now = { ...AS_USUAL };

function grant({ client_id }: OAuthClientInformationFull): OAuthTokens {
  const token = plantSecret(randomUUID());
  const refresh_token = plantSecret(randomUUID());
  const expiresAt = Date.now() / 1_000 + 3_600;
  access.set(token, { token, clientId: client_id, scopes: ['mcp:tools'], expiresAt });
  refresh.add(refresh_token);
  return { access_token: token, token_type: 'bearer', refresh_token };
}

const provider: OAuthServerProvider = {
  clientsStore: {
    getClient: (id) => clients.get(id),
    registerClient(client) {
      const registered = client as OAuthClientInformationFull;
      clients.set(registered.client_id, registered);
      return registered;
    },
  },
  async authorize(_client, params, response) {
    const code = plantSecret(randomUUID());
    codes.set(code, params);
    const query = { code, state: params.state ?? '', ...(now.issuer && { iss: now.issuer }) };
    response.redirect(`${params.redirectUri}?${new URLSearchParams(query)}`);
  },
  challengeForAuthorizationCode: async (_client, code) => codes.get(code)?.codeChallenge ?? '',
  async exchangeAuthorizationCode(client, code, _verifier, redirectUri, resource) {
    if (now.refusesScope) throw new InvalidScopeError('');
    const asked = codes.get(code);
    const isSame = asked?.redirectUri === redirectUri && asked?.resource?.href === resource?.href;
    if (!isSame || resource?.href !== server.href) throw new InvalidGrantError('another request');
    return grant(client);
  },
  async exchangeRefreshToken(client, token) {
    refreshed.push(token);
    if (!refresh.delete(token)) throw new InvalidGrantError('spent');
    return grant(client);
  },
  async verifyAccessToken(token) {
    const info = access.get(token);
    if (info === undefined) throw new InvalidTokenError('revoked');
    return info;
  },
};

const scopesSupported = ['mcp:tools'];

function serveAuthorization(): Server {
  const app = createMcpExpressApp();
  app.get('/.well-known/oauth-authorization-server', (_: unknown, response: ServerResponse) => {
    const metadata = createOAuthMetadata({ provider, issuerUrl, scopesSupported });
    const more = {
      issuer: now.namedIssuer,
      authorization_response_iss_parameter_supported: now.promisesIssuer,
    };
    response
      .setHeader('Content-Type', 'application/json')
      .end(JSON.stringify({ ...metadata, ...more }));
  });
  app.use(mcpAuthRouter({ provider, issuerUrl, scopesSupported }));
  return app.listen(authPort);
}

function serveMcp(): Server {
  const app = createMcpExpressApp();
  const oauthMetadata = createOAuthMetadata({ provider, issuerUrl, scopesSupported });
  app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: server, scopesSupported }));
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(server);
  app.use(requireBearerAuth({ verifier: provider, resourceMetadataUrl }));
  app.post(
    '/mcp',
    async (request: IncomingMessage & { body: unknown }, response: ServerResponse) => {
      const mcp = new McpServer({ name: 'a server', version: '1.0.0' });
      mcp.registerTool('greet', { description: 'Greets' }, () => ({ content: [] }));
      const transport = new StreamableHTTPServerTransport();
      await mcp.connect(transport as Transport);
      await transport.handleRequest(request, response, request.body);
    },
  );
  return app.listen(serverPort);
}

const servers = [serveAuthorization(), serveMcp()];
const endpoints = [authPort, exampleAuthPort].map((port) => `http://localhost:${port}/authorize`);
const relay = await startRelay({
  OPEN_ENDPOINTS: endpoints.join(),
  PROVIDERS: '',
  MAL_CLIENT_ID: '',
  START_BURST: '100',
});
afterAll(async () => {
  for (const each of servers) each.close();
  await relay.stop();
});

/** The user continues or declines; the authorization servers here ask nothing. */
async function answer(link: string): Promise<void> {
  const user = createUser({
    ask: (url, init) => fetch(new URL(url, relay.baseUrl), { redirect: 'manual', ...init }),
  });
  const decided = await user.decide(link, now.choice, { Origin: relay.baseUrl });
  const sent = decided.headers.get('location');
  if (sent === null) return;
  const back = await fetch(sent, { redirect: 'manual' });
  await user.open(back.headers.get('location') ?? '');
}

let folder = '';
let links: string[] = [];
beforeEach(() => {
  folder = newFolder();
  links = [];
  Object.assign(now, AS_USUAL);
  refreshed = [];
});

/** A client as in a process of its own: nothing is shared but the folder. */
function createClient(
  onPrompt = (link: string) => void answer(link),
  fetch?: (url: string, init: object) => Promise<Response>,
) {
  const shared = fileStorage(folder);
  const authProvider = relayProvider({
    relay: relay.baseUrl,
    server,
    storage: { ...shared },
    fetch,
    onPrompt({ link }) {
      links.push(link);
      onPrompt(link);
    },
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const connect = (timeout = 600_000) => {
    const transport = new StreamableHTTPClientTransport(server, { authProvider }) as Transport;
    return client.connect(transport, { timeout });
  };
  const toolNames = async () => (await client.listTools()).tools.map(({ name }) => name);
  return { authProvider, connect, toolNames, close: () => client.close() };
}

test('connecting shows a link once and waits; the next process shows none', async () => {
  const first = createClient();
  await first.connect();
  expect(await first.toolNames()).toEqual(['greet']);
  const second = createClient();
  await second.connect();
  expect(await second.toolNames()).toEqual(['greet']);
  expect(links).toHaveLength(1);
});

test('an access token that the server refuses is refreshed, and the request repeated', async () => {
  const { connect, toolNames } = createClient();
  await connect();
  access.clear();
  expect(await toolNames()).toEqual(['greet']);
  expect(links).toHaveLength(1);
  expect(refreshed).not.toBeEmpty();
});

test('clients on one storage refresh in turn, and send no refresh token twice', async () => {
  const clients = [createClient(), createClient(), createClient()];
  for (const { connect } of clients) await connect();
  for (let round = 0; round < 3; round += 1) {
    access.clear();
    const lists = await Promise.all(clients.map(({ toolNames }) => toolNames()));
    expect(lists).toEqual([['greet'], ['greet'], ['greet']]);
  }
  expect(links).toHaveLength(1);
  expect(new Set(refreshed).size).toBe(refreshed.length);
});

test('requests that are refused at the same time show no second link', async () => {
  const { connect, toolNames } = createClient();
  await connect();
  access.clear();
  expect(await Promise.all([toolNames(), toolNames()])).toEqual([['greet'], ['greet']]);
  expect(links).toHaveLength(1);
});

test('a refresh token that no longer works shows another link', async () => {
  const { connect, toolNames } = createClient();
  await connect();
  access.clear();
  refresh.clear();
  expect(await toolNames()).toEqual(['greet']);
  expect(links).toHaveLength(2);
});

const OTHER = 'https://other.example';

test.each<[string, Partial<typeof AS_USUAL>, string | undefined]>([
  ['names another issuer', { issuer: OTHER }, 'refused'],
  ['names whom the server claims to be', { issuer: OTHER, namedIssuer: OTHER }, 'refused'],
  [
    'names none, and the server claims to be another',
    { issuer: '', namedIssuer: OTHER },
    undefined,
  ],
  ['names none', { issuer: '' }, undefined],
  ['names none, though the metadata promise it', { issuer: '', promisesIssuer: true }, 'refused'],
  ['says that the user declined', { choice: 'decline' }, 'access_denied'],
])('a callback that %s', async (_, behaviour, code) => {
  Object.assign(now, behaviour);
  const connected = createClient().connect();
  if (code) await expect(connected).rejects.toMatchObject({ code });
  else await connected;
});

test('a callback with another state signs nobody in', async () => {
  const { connect } = createClient(undefined, async (url, init) => {
    const response = await fetch(url, init);
    const text = await response.text();
    // A relay cannot be told by a browser what the client's state is, but may be hostile itself.
    return new Response(text.replace(/"state":"[^"]*"/, '"state":"other"') || null, response);
  });
  await expect(connect()).rejects.toMatchObject({ code: 'refused' });
});

test('after a restart it continues with the link that the user has', async () => {
  const killed = createClient(() => {});
  void killed.connect().catch(() => {});
  await pollUntil('it shows its link', () => links.length > 0);
  const next = createClient(() => {});
  const connected = next.connect();
  await pollUntil('it shows the same link', () => links.length > 1);
  expect(links[1]).toBe(links[0] as string);
  await answer(links[0] as string);
  await connected;
  expect(await next.toolNames()).toEqual(['greet']);
});

test('connecting again after a time-out of the SDK continues with the same link', async () => {
  const { connect, toolNames } = createClient(() => {});
  const timedOut = connect(100);
  await expect(timedOut).rejects.toThrow('timed out');
  await pollUntil('it shows its link', () => links.length > 0);
  const again = connect();
  await answer(links[0] as string);
  await again;
  expect(await toolNames()).toEqual(['greet']);
  expect(links).toHaveLength(1);
});

test('signing out deletes the tokens, and the next connection shows a link', async () => {
  const { connect, authProvider, close } = createClient();
  await connect();
  await close();
  await authProvider.invalidateCredentials('all');
  expect(await authProvider.tokens()).toBeUndefined();
  await createClient().connect();
  expect(links).toHaveLength(2);
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
    env: { MCP_PORT: `${examplePort}`, MCP_AUTH_PORT: `${exampleAuthPort}` },
  });
  symlinkSync(modules, join(folder, 'node_modules'));
  const url = `http://localhost:${examplePort}/mcp`;
  const own = program.replace('https://mcp.example/mcp', url);
  const file = join(folder, 'client.mjs');
  writeFileSync(file, own.replace('https://relay.example', relay.baseUrl));
  const command = [NODE, file, relay.baseUrl, url];
  await pollUntil('the example server listens', () =>
    example.output().includes('Server listening'),
  );
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
  now.refusesScope = true;
  symlinkSync(modules, join(folder, 'node_modules'));
  const file = join(folder, 'client.mjs');
  writeFileSync(file, EXAMPLE);
  const program = startChild([NODE, file, relay.baseUrl, server.href], { env: { HOME: folder } });
  await answer(await readLink(program));
  await pollUntil('it says so', () => program.output().endsWith('\nInvalidScopeError\n'));
  program.kill('SIGKILL');
  await program.exited;
});
