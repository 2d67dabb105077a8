/** The environment a target needs for a run, as `KEY=VALUE` lines: `--print-env`. */

import type { Options, Spread } from './options.ts';

export interface ProviderIdentity {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
}

/** What the target must be told of a played provider. Only B has a secret, `protocol.md` §1. */
export function identityOf(options: Options, service: string): ProviderIdentity {
  return {
    clientId: `conformance-${service}`,
    clientSecret: service === options.serviceB ? `conformance-${service}-secret` : undefined,
    authorizeUrl: `${options.providerUrl}/${service}/authorize`,
    tokenUrl: `${options.providerUrl}/${service}/token`,
  };
}

/** A web app on a host, and one in a package: the Fetch standard calls its origin `null`. */
export const LISTED_ORIGINS = ['https://app.conformance.example', 'null'] as const;

export function environmentLines(options: Options): string[] {
  const proxies = trustedProxies(options.spread, options.proxyAddress);
  return [
    `OAUTH_BASE_URL=${options.publicUrl}`,
    ...[options.serviceA, options.serviceB].flatMap((name) => providerLines(options, name)),
    `SESSION_SECONDS=${options.sessionSeconds}`,
    `POLL_SECONDS=${options.pollSeconds}`,
    `MAX_SESSIONS=${options.maxSessions}`,
    ...(proxies === undefined ? [] : [`TRUSTED_PROXY_CIDRS=${proxies}`]),
    ...(options.extensions.has('device-grant')
      ? [`DEVICE_GRANT_REPEAT_SECONDS=${options.grantRepeatSeconds}`]
      : []),
    ...(options.extensions.has('cors') ? [`CORS_ORIGINS=${LISTED_ORIGINS.join(',')}`] : []),
    ...(options.extensions.has('confirm') ? ['CONFIRM=always'] : []),
  ];
}

function providerLines(options: Options, service: string): string[] {
  const prefix = service.toUpperCase().replaceAll('-', '_');
  const identity = identityOf(options, service);
  return [
    `${prefix}_CLIENT_ID=${identity.clientId}`,
    ...(identity.clientSecret ? [`${prefix}_CLIENT_SECRET=${identity.clientSecret}`] : []),
    `${prefix}_AUTHORIZE_URL=${identity.authorizeUrl}`,
    `${prefix}_TOKEN_URL=${identity.tokenUrl}`,
  ];
}

/** In the forwarded spread everything on this machine is the proxy; elsewhere the operator knows better. */
function trustedProxies(spread: Spread, proxyAddress: string | undefined): string | undefined {
  if (spread === 'forwarded') return '127.0.0.0/8,::1/128';
  if (proxyAddress === undefined) return undefined;
  return `${proxyAddress}/${proxyAddress.includes(':') ? 128 : 32}`;
}
