/** Which programs of docs/device-grant.md there are, what they can do and what they say. */
import type { Service } from '../../browser/support/stage.ts';
import type { TestProvider } from '../../support/providers/running-provider.ts';
import type { Program } from './app.ts';
import type { Answer } from './person.ts';
import { readBlocks } from './recipes.ts';

export interface Client {
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
const EXPIRED = 'expired_token';

/** The one that checks ID tokens is told of the provider `demo`. */
export const listClients = (demo: TestProvider): Client[] => [
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
