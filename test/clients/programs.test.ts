/**
 * The programs of examples/device-grant, which docs/device-grant.md links to: OAuth
 * libraries that this project did not write, at real providers.
 */
import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { type Service, SIGNED_IN, startServers, USER } from '../kit/chromium.ts';
import { type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { newFolder } from '../kit/folder.ts';
import { has, isHere, type Need, PYTHON } from '../kit/needs.ts';
import { findFreePort, startChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { answerLink, type Choice } from '../kit/user.ts';
import { failureOf } from '../kit/wait.ts';
import packageJson from '../package.json' with { type: 'json' };

const LONGEST_MS = 60_000;

const [setup, shortLived] = await Promise.all([
  startServers(),
  startRelay({
    START_BURST: '100',
    // Ends before a client polls a second time.
    SESSION_SECONDS: '3',
    // A client with `Prefer: wait` is held this long at most, and then gets expired_token.
    POLL_SECONDS: '5',
    // A provider that never answers.
    MAL_TOKEN_URL: `http://127.0.0.1:${await findFreePort()}/token`,
  }),
]);

const DOCUMENT = readFileSync(`${ROOT}docs/device-grant.md`, 'utf8');

interface Client {
  readonly name: string;
  readonly need?: Need;
  /** Interpreter and file. */
  readonly program: readonly [string, string];
  readonly service: Service;
  /** After the issuer. */
  readonly args?: readonly string[];
  readonly declined: Choice;
  readonly expired: string;
  readonly checksIdToken?: true;
  /** It polls again after a poll that failed. */
  readonly survivesFaults?: true;
}

const { demo } = setup.providers;

const CLIENTS: readonly Client[] = [
  {
    name: 'openid-client',
    program: [process.execPath, 'openid-client.mjs'],
    service: 'mal',
    declined: 'decline',
    expired: 'OAUTH_TIMEOUT',
  },
  {
    name: 'openid-client, with ID tokens',
    program: [process.execPath, 'openid-client.mjs'],
    service: 'demo',
    args: [new URL(demo.tokenUrl).origin, demo.clientId],
    declined: 'decline at the provider',
    expired: 'OAUTH_TIMEOUT',
    checksIdToken: true,
  },
  {
    name: 'oauthlib',
    need: 'Python',
    program: [PYTHON, 'with_oauthlib.py'],
    service: 'demo',
    declined: 'decline',
    expired: 'expired_token',
    survivesFaults: true,
  },
  {
    name: 'curl',
    need: 'curl and qrencode',
    program: ['bash', 'curl.sh'],
    service: 'demo',
    declined: 'decline at the provider',
    expired: 'expired_token',
    survivesFaults: true,
  },
];

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}

/** The program, with a current folder of its own, where it keeps its tokens. */
function install({ program, args = [] }: Client, baseUrl: string, service: Service) {
  const [interpreter, file] = program;
  const folder = newFolder();
  const path = join(ROOT, 'examples/device-grant', file);
  return {
    run() {
      const link = Promise.withResolvers<string>();
      // A program that refreshes prints none.
      link.promise.catch(() => {});
      const child = startChild([interpreter, path, `${baseUrl}/oauth2/${service}`, ...args], {
        cwd: folder,
        // The programs are outside of test/, where their libraries are installed.
        env: { OAUTHLIB_INSECURE_TRANSPORT: '1', NODE_PATH: `${ROOT}test/node_modules` },
        onLine(line) {
          const [found] = /http\S+\/L\/\S+$/.exec(line) ?? [];
          if (found !== undefined) link.resolve(found);
        },
      });
      const ended = child.exited.then((exitCode) => {
        link.reject(new Error(`ended without a link:\n${child.output()}`));
        return { exitCode, output: child.output() };
      });
      return { link: link.promise, ended };
    },
    readTokens(): Tokens {
      const tokens = JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')) as Tokens;
      plantSecret(tokens.access_token);
      plantSecret(tokens.refresh_token ?? '');
      plantSecret(tokens.id_token ?? '');
      return tokens;
    },
    /** As if the program had saved these tokens. */
    saveTokens(tokens: Tokens) {
      writeFileSync(join(folder, 'tokens.json'), JSON.stringify(tokens));
      if (tokens.refresh_token) writeFileSync(join(folder, 'refresh-token'), tokens.refresh_token);
    },
    readRefreshToken: () => readFileSync(join(folder, 'refresh-token'), 'utf8').trim(),
  };
}

test.each(['openid-client', 'oauth4webapi'] as const)(
  'the document names the version of %s that is tested',
  (name) => {
    const row = DOCUMENT.split('\n').find((line) => line.startsWith(`| [${name}]`));
    expect(row?.split(' | ')[1]).toBe(packageJson.dependencies[name]);
  },
);

function cutTokensOnce(): Fate {
  let isCut = false;
  return {
    cutAfter(response) {
      const isFirst = response.includes('"access_token"') && !isCut;
      isCut ||= isFirst;
      return response.length - (isFirst ? 5 : 0);
    },
  };
}

const isRunHere = ({ name, need }: Client) =>
  need === undefined || has(need, `${name} signs in by the device grant`);

describe.each(CLIENTS.filter(isRunHere))('$name', (client) => {
  const { service, declined, expired, checksIdToken, survivesFaults } = client;

  test.concurrent(
    'the user signs in; the tokens are refreshed',
    async () => {
      const app = install(client, setup.relay.baseUrl, service);
      const { findOwner } = setup.providers[service];
      const { link, ended } = app.run();
      const page = await answerLink(USER, await link);
      // What the relay says of it, if the page is another.
      const lines = page.status === 200 ? [] : setup.relay.events().slice(-20);
      expect({ page, lines }).toMatchObject({ page: SIGNED_IN });
      expect(await ended).toMatchObject({ exitCode: 0 });
      const first = app.readTokens();
      expect(await findOwner(first.access_token)).toBe(USER);
      if (checksIdToken) expect(first.id_token).toBeString();

      expect(await app.run().ended).toEqual({ exitCode: 0, output: '' });
      const second = app.readTokens();
      expect(second.access_token).not.toBe(first.access_token);
      expect(await findOwner(second.access_token)).toBe(USER);
    },
    LONGEST_MS,
  );

  test.concurrent(
    'saved tokens that the provider refuses to refresh: the user signs in again',
    async () => {
      const app = install(client, setup.relay.baseUrl, service);
      app.saveTokens({ access_token: 'gone', refresh_token: 'revoked' });
      const { link, ended } = app.run();
      expect(await answerLink(USER, await link)).toMatchObject(SIGNED_IN);
      expect(await ended).toMatchObject({ exitCode: 0 });
      expect(app.readTokens().refresh_token).not.toBe('revoked');
    },
    LONGEST_MS,
  );

  test.concurrent(
    `the user declines (${declined})`,
    async () => {
      const app = install(client, setup.relay.baseUrl, service);
      const { link, ended } = app.run();
      const page = await answerLink(USER, await link, declined);
      const text = expect.stringContaining(
        declined === 'decline' ? 'Sign-in cancelled' : 'Sign-in was cancelled.',
      );
      expect(page).toMatchObject({ status: 200, text });
      const { exitCode, output } = await ended;
      expect(output).toEndWith('\naccess_denied\n');
      expect(exitCode).toBe(1);
    },
    LONGEST_MS,
  );

  if (survivesFaults)
    test.concurrent(
      'pages of a proxy, and tokens that are cut off, do not end the sign-in',
      async () => {
        // The first request is the device authorization.
        const fates: Fate[] = [
          {},
          { response: new Response('<html>', { status: 503 }) },
          { response: new Response('<html>') },
          { losesRequest: true },
        ];
        const cut = cutTokensOnce();
        using proxy = await startFaultProxy(setup.relay.baseUrl, ({ nth }) => fates[nth] ?? cut);
        const app = install(client, proxy.url, service);
        const { link, ended } = app.run();
        expect(await answerLink(USER, await link)).toMatchObject(SIGNED_IN);
        expect(await ended).toMatchObject({ exitCode: 0 });
        // The tokens came twice.
        expect(proxy.counts.exchanges).toBeGreaterThanOrEqual(fates.length + 2);
      },
      LONGEST_MS,
    );

  test.concurrent(
    'the code expires, also if the saved tokens have no refresh token',
    async () => {
      const app = install(client, shortLived.baseUrl, 'mal');
      app.saveTokens({ access_token: 'gone' });
      const { exitCode, output } = await app.run().ended;
      expect(output).toEndWith(`\n${expired}\n`);
      expect(exitCode).toBe(1);
    },
    LONGEST_MS,
  );
});

async function configure(issuer: string, ...client: [string, Partial<openid.ClientMetadata>?]) {
  const [clientId, metadata] = client;
  const options = { execute: [openid.allowInsecureRequests] };
  return openid.discovery(new URL(issuer), clientId, metadata, openid.None(), options);
}

test('openid-client refuses an ID token that the metadata of the relay do not name', async () => {
  // Everything else in the token is as the client expects it.
  const metadata = { id_token_signed_response_alg: 'ES256' };
  const config = await configure(`${setup.relay.baseUrl}/oauth2/demo`, demo.clientId, metadata);
  const authorization = await openid.initiateDeviceAuthorization(config, {});
  const polled = failureOf(openid.pollDeviceAuthorizationGrant(config, authorization));
  const link = authorization.verification_uri_complete ?? '';
  expect(await answerLink(USER, link)).toMatchObject(SIGNED_IN);
  expect(await polled).toMatchObject({ code: oauth.JWT_CLAIM_COMPARISON });
});

test('openid-client does not take a refresh that fails for now for invalid_grant', async () => {
  const config = await configure(`${shortLived.baseUrl}/oauth2/mal`, 'tv');
  const refused = failureOf(openid.refreshTokenGrant(config, 'a-refresh-token'));
  expect(await refused).toMatchObject({ code: oauth.RESPONSE_IS_NOT_CONFORM });
});

test.if(isHere('curl and qrencode'))(
  'curl: a token with commas and braces is kept whole',
  async () => {
    const token = plantSecret('a-refresh-token,with:{all},of-this');
    const relay = serveUpstream(({ url }) =>
      Response.json(
        url.endsWith('/token')
          ? {
              access_token: token,
              token_type: 'Bearer',
              expires_in: 60,
              refresh_token: token,
              scope: '',
            }
          : { device_code: 'c', user_code: 'u', verification_uri: 'v', expires_in: 9, interval: 1 },
      ),
    );
    const [curl] = CLIENTS.filter(({ name }) => name === 'curl') as [Client];
    const app = install(curl, new URL(relay.url).origin, 'mal');
    expect(await app.run().ended).toMatchObject({ exitCode: 0 });
    expect(app.readRefreshToken()).toBe(token);
    relay.stop();
  },
);
