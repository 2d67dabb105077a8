/**
 * Signs in with openid-client, or refreshes what tokens.json has.
 * Arguments: the issuer at the relay; for ID tokens also the provider's issuer, and the
 * operator's client id there, which is not a secret. docs/device-grant.md "ID tokens".
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as client from 'openid-client';

const [relay, provider, clientId] = process.argv.slice(2);
const execute = relay.startsWith('http:') ? [client.allowInsecureRequests] : [];
const config = provider === undefined ? await discover(relay, 'tv') : await discoverBoth();

function discover(issuer, id) {
  return client.discovery(new URL(issuer), id, undefined, client.None(), { execute });
}

/** The provider's metadata, by which ID tokens are checked, with two endpoints of the relay. */
async function discoverBoth() {
  const found = await discover(provider, clientId);
  const metadata = {
    ...found.serverMetadata(),
    device_authorization_endpoint: `${relay}/device_authorization`,
    token_endpoint: `${relay}/token`,
  };
  const both = new client.Configuration(metadata, clientId, undefined, client.None());
  for (const set of execute) set(both);
  return both;
}

async function signIn() {
  const begun = await client.initiateDeviceAuthorization(config, { device: 'Living room' });
  console.log(`Open ${begun.verification_uri_complete}`);
  console.log(`or type ${begun.user_code} at ${begun.verification_uri}`);
  return client.pollDeviceAuthorizationGrant(config, begun);
}

/** Undefined if the user has to sign in again. */
async function refresh() {
  const saved = existsSync('tokens.json') && JSON.parse(readFileSync('tokens.json', 'utf8'));
  if (!saved.refresh_token) return undefined;
  try {
    return { ...saved, ...(await client.refreshTokenGrant(config, saved.refresh_token)) };
  } catch (error) {
    if (error.error !== 'invalid_grant') throw error;
  }
}

try {
  const tokens = (await refresh()) ?? (await signIn());
  writeFileSync('tokens.json', JSON.stringify(tokens), { mode: 0o600 });
} catch (error) {
  console.error(error.error ?? error.code);
  process.exitCode = 1;
}
