/**
 * Clients that nobody here wrote, in the programs of docs/device-grant.md, against a
 * relay as its operator starts it and with a person at a real browser.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { NAMES } from '../browser/support/person.ts';
import { CANCELLED, SIGNED_IN } from '../browser/support/relay-page.ts';
import { type Service, setStage } from '../browser/support/stage.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { createApp, type Program } from './support/app.ts';
import { type Answer, openLink } from './support/person.ts';
import { readBlocks } from './support/recipes.ts';

const LONGEST_MS = 60_000;

const [stage, hasty] = await Promise.all([
  setStage(),
  startLocalRelay({
    MAL_CLIENT_ID: 'mal-client',
    START_BURST: '100',
    // Over before a client polls a second time.
    SESSION_SECONDS: '3',
    // Who prefers to wait is held no longer than this, and hears of the end only then.
    POLL_SECONDS: '5',
  }),
]);
afterAll(() => Promise.all([stage.stop(), hasty.stop()]));

interface Client {
  readonly name: string;
  readonly program: Program;
  readonly service: Service;
  /** Besides the issuer. */
  readonly args?: readonly string[];
  readonly declined: Answer;
  readonly saysExpired: string;
  readonly canRefresh: boolean;
  readonly checksIdToken?: true;
}

const inJavaScript = (...blocks: (string | undefined)[]): Program => ({
  interpreter: process.execPath,
  file: 'sign-in.mjs',
  source: blocks.join('\n'),
});

const [discover, signIn] = readBlocks('openid-client');
const [discoverBoth] = readBlocks('openid-client, with ID tokens');
const { demo } = stage.providers;
const EXPIRED = 'expired_token';

const CLIENTS: readonly Client[] = [
  {
    name: 'openid-client',
    program: inJavaScript(discover, signIn),
    service: 'mal',
    declined: 'decline',
    saysExpired: 'OAUTH_TIMEOUT',
    canRefresh: true,
  },
  {
    name: 'openid-client, with ID tokens',
    program: inJavaScript(discoverBoth, signIn),
    service: 'demo',
    args: [new URL(demo.tokenUrl).origin, demo.clientId],
    declined: 'decline at the provider',
    saysExpired: 'OAUTH_TIMEOUT',
    canRefresh: true,
    checksIdToken: true,
  },
  {
    name: 'oauth4webapi',
    program: inJavaScript(...readBlocks('oauth4webapi')),
    service: 'mal',
    declined: 'decline at the provider',
    saysExpired: EXPIRED,
    canRefresh: true,
  },
  {
    name: '@octokit/auth-oauth-device',
    program: inJavaScript(...readBlocks('@octokit/auth-oauth-device')),
    service: 'demo',
    declined: 'decline',
    saysExpired: EXPIRED,
    canRefresh: false,
  },
  {
    name: 'oauthlib',
    // Debian's own, which has Debian's packages.
    program: {
      interpreter: '/usr/bin/python3',
      file: 'sign_in.py',
      source: readBlocks('oauthlib').join(''),
    },
    service: 'demo',
    declined: 'decline',
    saysExpired: EXPIRED,
    canRefresh: true,
  },
  {
    name: 'curl',
    program: { interpreter: 'bash', file: 'sign-in.sh', source: readBlocks('curl').join('') },
    service: 'demo',
    declined: 'decline at the provider',
    saysExpired: EXPIRED,
    canRefresh: true,
  },
];

function install({ program, args = [] }: Client, baseUrl: string, service: Service) {
  return createApp(program, [`${baseUrl}/oauth2/${service}`, ...args]);
}

describe.each([...CLIENTS])('$name', (client) => {
  const { service } = client;

  test.concurrent(
    client.canRefresh ? 'somebody signs in; the tokens are refreshed' : 'somebody signs in',
    async () => {
      const app = install(client, stage.relay.baseUrl, service);
      const { findOwner } = stage.providers[service];
      const { link, ended } = app.run();
      expect(await openLink(stage, await link, service, 'agree')).toMatchObject(SIGNED_IN);
      expect(await ended).toMatchObject({ exitCode: 0 });
      const first = app.readTokens();
      expect(await findOwner(first.access_token)).toBe(NAMES[service]);
      if (client.checksIdToken) expect(first.id_token).toBeString();

      if (client.canRefresh) {
        expect(await app.run().ended).toEqual({ exitCode: 0, output: '' });
        const second = app.readTokens();
        expect(second.access_token).not.toBe(first.access_token);
        expect(await findOwner(second.access_token)).toBe(NAMES[service]);
      }
      app.remove();
    },
    LONGEST_MS,
  );

  test.concurrent(
    `somebody declines: ${client.declined}`,
    async () => {
      const app = install(client, stage.relay.baseUrl, service);
      const { link, ended } = app.run();
      const page = await openLink(stage, await link, service, client.declined);
      if (client.declined !== 'decline') expect(page).toMatchObject(CANCELLED);
      const { exitCode, output } = await ended;
      expect(output).toEndWith('\naccess_denied\n');
      expect(exitCode).toBe(1);
      app.remove();
    },
    LONGEST_MS,
  );

  test.concurrent(
    'nobody comes',
    async () => {
      const app = install(client, hasty.baseUrl, 'mal');
      const { exitCode, output } = await app.run().ended;
      expect(output).toEndWith(`\n${client.saysExpired}\n`);
      expect(exitCode).toBe(1);
      app.remove();
    },
    LONGEST_MS,
  );
});
