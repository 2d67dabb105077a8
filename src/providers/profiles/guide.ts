/** A guide to one provider, made from its profile: docs/providers/*.md, and `sign-in-relay providers <name>`. */
import { type Fact, factsByName, type Profile } from './profile.ts';

/** Markdown that reads well in a terminal too. */
export function writeGuide(name: string, profile: Profile): string {
  const { displayName } = profile;
  return `# ${displayName}

This page is for operators who want their users to sign in at ${displayName}. The name in \`PROVIDERS\` is \`${name}\`.

## Register

At <${profile.registration.value}>:

${profile.register.map((step, index) => `${index + 1}. ${step}`).join('\n')}

The redirect URI, to the letter, with your own \`OAUTH_BASE_URL\`:

    https://relay.example/auth/${name}/callback

The relay logs it when it starts.

## Set

${settings(name, profile)}

## Test

1. Start the relay. Its log has \`listening\` with your redirect URI, and a \`setting\` line for anything that it doubts.
2. Start a sign-in, and open the \`url\` of the response in a browser:

       curl -d '{"service":"${name}"}' https://relay.example/auth/start

3. Sign in at ${displayName}. Then fetch the tokens with the \`session\` of that response:

       curl 'https://relay.example/auth/result?session=…'

   ${expected(profile)}

If the device gets \`exchange_failed\`, the relay's log says why (\`exchange_failed\`, with the status and the error of ${displayName}).

## What goes wrong

${list(profile.traps.map(sentence), '- ')}

## What the relay sends

${describeRequests(profile)}

## What comes back

- Refresh token: ${describeRefreshToken(profile)}
- A refresh gives another refresh token: ${profile.rotates.value}.
- Lifetime: ${profile.lifetime.value}.
${list(
  profile.responses.map(({ value }) => `In the response, ${value}.`),
  '- ',
)}

## A device flow of its own

${describeDeviceFlow(profile)}

## Sources

${describeSources(profile)}
`.replaceAll(/\n{3,}/g, '\n\n');
}

function list(items: readonly string[], mark: string): string {
  return items.map((item) => `${mark}${item}`).join('\n');
}

function sentence({ value, unverified }: Fact<string>): string {
  return unverified ? `${value} (Unverified: ${unverified}.)` : value;
}

function settings(name: string, profile: Profile): string {
  const prefix = `${name.toUpperCase().replaceAll('-', '_')}_`;
  const lines = [
    `PROVIDERS=${name}`,
    `${prefix}CLIENT_ID=…`,
    ...(profile.clientSecret.value === 'required'
      ? [`${prefix}CLIENT_SECRET_FILE=/run/secrets/${name}`]
      : []),
    ...(profile.userAgent ? [`${prefix}USER_AGENT=…`] : []),
  ];
  const notes = [
    profile.clientSecret.value === 'optional'
      ? `If the app has a secret, set \`${prefix}CLIENT_SECRET_FILE\` too. Without one, PKCE alone protects the code.`
      : '',
    profile.userAgent
      ? `\`${prefix}USER_AGENT\` should name ${profile.userAgent.value}. Unset, it is \`sign-in-relay\`.`
      : '',
    profile.scope.value === ''
      ? `No scope is sent unless you set \`${prefix}SCOPE\`.`
      : `The scope is \`${profile.scope.value}\` unless you set \`${prefix}SCOPE\` to what your app needs${keepsRefreshing(profile)}.`,
  ].filter(Boolean);
  return `${list(lines, '    ')}\n\n${notes.join('\n')}`;
}

function keepsRefreshing({ refreshToken, scope }: Profile): string {
  const offline = scope.value.split(' ').find((each) => each.startsWith('offline'));
  return refreshToken.value === 'with the scope above' && offline
    ? `; keep \`${offline}\` in it, or there is no refresh token`
    : '';
}

function expected({ refreshToken }: Profile): string {
  return refreshToken.value === 'never'
    ? 'It has an `accessToken`, and no `refreshToken`.'
    : 'It has an `accessToken` and a `refreshToken`.';
}

function describeRequests(profile: Profile): string {
  const { authorizeParams, tokenRequest, clientIdHeader, refreshesWithRedirectUri } = profile;
  const parameters = Object.entries(authorizeParams?.value ?? {})
    .map(([name, value]) => `\`${name}=${value}\``)
    .join(' and ');
  const rows = [
    ['users sign in at', profile.authorizeUrl.value],
    ['tokens come from', profile.tokenUrl.value],
    ['PKCE', profile.pkce.value],
    ['scope', profile.scope.value === '' ? 'none' : `\`${profile.scope.value}\``],
    ['parameters', parameters || 'none'],
    ['client secret', describeAuthentication(profile)],
    ['token request', tokenRequest ? 'JSON' : 'a form'],
    ...(clientIdHeader ? [['client id also in', `the header \`${clientIdHeader.value}\``]] : []),
    ...(refreshesWithRedirectUri ? [['a refresh also brings', '`redirect_uri`']] : []),
  ];
  return ['| | |', '|---|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}

function describeAuthentication({ clientAuth, clientSecret }: Profile): string {
  const how = clientAuth.value === 'basic' ? 'HTTP Basic' : 'in the body (`post`)';
  return `${clientSecret.value}, ${how}`;
}

function describeRefreshToken({ refreshToken, authorizeParams }: Profile): string {
  switch (refreshToken.value) {
    case 'always':
      return 'with every sign-in.';
    case 'never':
      return 'never.';
    case 'with the scope above':
      return 'because of the scope.';
    case 'with the parameters above':
      return `because of ${Object.keys(authorizeParams?.value ?? {})
        .map((name) => `\`${name}\``)
        .join(' and ')}.`;
  }
}

function describeDeviceFlow({ displayName, deviceFlow }: Profile): string {
  if (deviceFlow.value === 'none') {
    return sentence({ ...deviceFlow, value: 'None was found.' });
  }
  const note = `If your app signs in at ${displayName} alone, it may not need the relay.`;
  return `${sentence(deviceFlow)}

${note}`;
}

/** Each fact that the relay or the operator relies on, where it was read, and when. */
function describeSources(profile: Profile): string {
  const rows = factsByName(profile).map(([name, { sources, readOn, unverified }]) => {
    const links = sources.map((source) => `<${source}>`).join(' ') || '–';
    return `| ${name} | ${unverified ? `unverified: ${unverified}` : 'verified'} | ${links} | ${readOn} |`;
  });
  const heading = '| fact | | sources | read on |\n|---|---|---|---|';
  return `${heading}\n${rows.join('\n')}`;
}
