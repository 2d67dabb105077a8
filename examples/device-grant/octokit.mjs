/**
 * Signs in with @octokit/auth-oauth-device. It is made for GitHub, so the two paths of
 * its requests are rewritten. It returns only the access token. Argument: the issuer at
 * the relay.
 */
import { writeFileSync } from 'node:fs';
import { createOAuthDeviceAuth } from '@octokit/auth-oauth-device';
import { request } from '@octokit/request';

function fetchFromRelay(url, init) {
  const address = url
    .replace(/\/login\/device\/code$/, '/device_authorization')
    .replace(/\/login\/oauth\/access_token$/, '/token');
  return fetch(address, init);
}

const auth = createOAuthDeviceAuth({
  clientType: 'oauth-app',
  clientId: 'tv',
  request: request.defaults({ baseUrl: process.argv[2], request: { fetch: fetchFromRelay } }),
  onVerification(begun) {
    console.log(`Open ${begun.verification_uri_complete}`);
    console.log(`or type ${begun.user_code} at ${begun.verification_uri}`);
  },
});

try {
  const { token } = await auth({ type: 'oauth' });
  writeFileSync('tokens.json', JSON.stringify({ access_token: token }), { mode: 0o600 });
} catch (error) {
  console.error(error.response?.data.error ?? error.message);
  process.exitCode = 1;
}
