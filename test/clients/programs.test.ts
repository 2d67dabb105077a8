/**
 * Clients that nobody here wrote, in the programs of docs/device-grant.md, against a
 * relay as its operator starts it and with a person at a real browser.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import packageJson from '../../package.json' with { type: 'json' };
import { NAMES } from '../browser/support/person.ts';
import { CANCELLED, SIGNED_IN } from '../browser/support/relay-page.ts';
import { type Service, setStage } from '../browser/support/stage.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import { createApp } from './support/app.ts';
import { type Client, listClients } from './support/clients.ts';
import { openLink } from './support/person.ts';
import { readRow } from './support/recipes.ts';

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

const CLIENTS = listClients(stage.providers.demo);

function install({ program, args = [] }: Client, baseUrl: string, service: Service) {
  return createApp(program, [`${baseUrl}/oauth2/${service}`, ...args]);
}

test.each(['openid-client', 'oauth4webapi', '@octokit/auth-oauth-device'] as const)(
  'the version of %s that is run is the one in the document',
  (name) => {
    const [, version] = readRow(name);
    expect(version).toBe(packageJson.devDependencies[name]);
  },
);

describe.each(CLIENTS)('$name', (client) => {
  const { service } = client;

  test.concurrent(
    client.canRefresh ? 'somebody signs in; the tokens are refreshed' : 'somebody signs in',
    async () => {
      using app = install(client, stage.relay.baseUrl, service);
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
    },
    LONGEST_MS,
  );

  test.concurrent(
    `somebody declines: ${client.declined}`,
    async () => {
      using app = install(client, stage.relay.baseUrl, service);
      const { link, ended } = app.run();
      const page = await openLink(stage, await link, service, client.declined);
      if (client.declined !== 'decline') expect(page).toMatchObject(CANCELLED);
      const { exitCode, output } = await ended;
      expect(output).toEndWith('\naccess_denied\n');
      expect(exitCode).toBe(1);
    },
    LONGEST_MS,
  );

  test.concurrent(
    'nobody comes',
    async () => {
      using app = install(client, hasty.baseUrl, 'mal');
      const { exitCode, output } = await app.run().ended;
      expect(output).toEndWith(`\n${client.saysExpired}\n`);
      expect(exitCode).toBe(1);
    },
    LONGEST_MS,
  );
});
