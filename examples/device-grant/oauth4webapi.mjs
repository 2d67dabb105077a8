/**
 * Signs in with oauth4webapi, which has no polling loop, or refreshes what tokens.json has.
 * Argument: the issuer at the relay.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import * as oauth from 'oauth4webapi';

const issuer = new URL(process.argv[2]);
const options = { [oauth.allowInsecureRequests]: issuer.protocol === 'http:' };
const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
const server = await oauth.processDiscoveryResponse(issuer, found);
const client = { client_id: 'tv' };
const auth = oauth.None();

async function signIn() {
  const parameters = { device: 'Living room' };
  const answer = await oauth.deviceAuthorizationRequest(server, client, auth, parameters, options);
  const begun = await oauth.processDeviceAuthorizationResponse(server, client, answer);
  console.log(`Open ${begun.verification_uri_complete}`);
  console.log(`or type ${begun.user_code} at ${begun.verification_uri}`);
  return poll(begun.device_code, begun.interval);
}

async function poll(deviceCode, interval) {
  await wait(interval * 1000);
  const answer = await oauth.deviceCodeGrantRequest(server, client, auth, deviceCode, options);
  try {
    return await oauth.processDeviceCodeResponse(server, client, answer);
  } catch (error) {
    if (error.error === 'authorization_pending') return poll(deviceCode, interval);
    if (error.error === 'slow_down') return poll(deviceCode, interval + 5);
    throw error;
  }
}

async function refresh(refreshToken) {
  const answer = await oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, options);
  return oauth.processRefreshTokenResponse(server, client, answer);
}

const saved = existsSync('tokens.json')
  ? JSON.parse(readFileSync('tokens.json', 'utf8'))
  : undefined;
try {
  const tokens = saved ? await refresh(saved.refresh_token) : await signIn();
  writeFileSync('tokens.json', JSON.stringify({ ...saved, ...tokens }), { mode: 0o600 });
} catch (error) {
  console.error(error.error ?? error.code);
  process.exitCode = 1;
}
