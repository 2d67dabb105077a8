/** A client of an MCP server that signs in by an open sign-in, with oauth4webapi: docs/open.md. */
import { setTimeout as pause } from 'node:timers/promises';
import * as oauth from 'oauth4webapi';

const RELAY = 'https://relay.example';
const SERVER = new URL('https://mcp.example/mcp');
const options = {};

const resource = await oauth.processResourceDiscoveryResponse(
  SERVER,
  await oauth.resourceDiscoveryRequest(SERVER, options),
);
const issuer = new URL(resource.authorization_servers[0]);
const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options });
const server = await oauth.processDiscoveryResponse(issuer, found);
const metadata = {
  client_name: 'A shell',
  redirect_uris: [`${RELAY}/open/callback`],
  token_endpoint_auth_method: 'none',
};
const registered = await oauth.dynamicClientRegistrationRequest(server, metadata, options);
const client = await oauth.processDynamicClientRegistrationResponse(registered);

const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
const url = new URL(server.authorization_endpoint);
url.search = new URLSearchParams({
  response_type: 'code',
  client_id: client.client_id,
  scope: (resource.scopes_supported ?? []).join(' '),
  state,
  resource: SERVER.href,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
});
const body = JSON.stringify({
  authorizationUrl: url.href,
  code: true,
  ack: true,
  device: 'A shell',
});
const started = await (await fetch(`${RELAY}/open`, { method: 'POST', body })).json();
console.log('Open', started.link);

const result = `${RELAY}/auth/result?session=${started.session}`;
let answer;
while (!answer) {
  try {
    const response = await fetch(`${result}&wait=25`);
    if (response.status === 410) answer = { error: 'The link has expired' };
    if (response.status === 400) answer = { error: await response.text() };
    if (response.status === 200) answer = await response.json();
  } catch {
    // No response, or one that was cut off.
  }
  if (!answer) await pause(2000);
}
if (answer.error) throw new Error(answer.error);
const callback = oauth.validateAuthResponse(
  server,
  client,
  new URLSearchParams(answer.callback),
  state,
);
const granted = await oauth.authorizationCodeGrantRequest(
  server,
  client,
  oauth.None(),
  callback,
  answer.redirectUri,
  verifier,
  { additionalParameters: { resource: SERVER.href }, ...options },
);
const tokens = await oauth.processAuthorizationCodeResponse(server, client, granted);
await fetch(`${result}&ack=1`);
console.log('Signed in, for', tokens.expires_in, 'seconds');
