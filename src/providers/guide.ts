/** Writes the guide to a provider from its profile: docs/providers/*.md, and `sign-in-relay providers <name>`. */
import { CHECKED_BY, type FactName, nameOfFact, OWN_URL, type Profile } from './profile.ts';
import { REDIRECT_KINDS } from './redirect-uris.ts';

/** Markdown that reads well in a terminal too. */
export function writeGuide(name: string, profile: Profile): string {
  return writeAll(name, profile)
    .replaceAll(OWN_URL, profile.defaultUrl ?? exampleUrlOf(name))
    .replaceAll(/\n{3,}/g, '\n\n');
}

/** Stands for the operator's own server. */
function exampleUrlOf(name: string): string {
  return `https://${name}.example`;
}

function writeAll(name: string, profile: Profile): string {
  const { displayName } = profile;
  return `# ${displayName}

This page is for operators who want their users to sign in at ${displayName}. The name in \`PROVIDERS\` is \`${name}\`.

## Register

At <${profile.registration}>:

${profile.register.map((step, index) => `${index + 1}. ${step}`).join('\n')}

Exactly this redirect URI, with your own \`OAUTH_BASE_URL\`:

    https://relay.example/auth/${name}/callback

The relay logs it when it starts.${describeRefusedRedirects(profile)}

${describeReview(profile)}

## Set

${settings(name, profile)}

## Test

1. Start the relay. Its log has \`listening\` with your redirect URI, and a \`setting\` line for each warning.
2. Start a sign-in, and open the \`url\` of the response in a browser:

       curl -d '{"service":"${name}"}' https://relay.example/auth/start

3. Sign in at ${displayName}. Then fetch the tokens with the \`session\` of that response:

       curl 'https://relay.example/auth/result?session=…'

   ${expected(profile)}

If the device gets \`exchange_failed\`, the relay's log says why, with the status and the error of ${displayName}.

## What goes wrong

${profile.traps.map((trap, index) => `${index + 1}. ${sentence(profile, `trap ${index + 1}`, trap)}`).join('\n')}

## What the relay sends

${describeRequests(profile)}

## What the relay gets

- Refresh token: ${describeRefreshToken(profile)}
- A refresh gives another refresh token: ${profile.rotates}.
- Lifetime: ${profile.lifetime}.
${list(
  (profile.responses ?? []).map((response) => `Response: ${response}.`),
  '- ',
)}

## Signing out

${describeSigningOut(profile)}

## Its own device flow

${describeDeviceFlow(profile)}

## Sources

${describeSources(profile)}
`;
}

function list(items: readonly string[], mark: string): string {
  return items.map((item) => `${mark}${item}`).join('\n');
}

function sentence({ evidence }: Profile, fact: FactName, text: string): string {
  const reason = evidence.unverified?.[fact];
  return reason === undefined ? text : `${text} (Unverified: ${reason}.)`;
}

function describeRefusedRedirects(profile: Profile): string {
  const { displayName, refusedRedirects } = profile;
  if (refusedRedirects === undefined) return '';
  const kinds = refusedRedirects.map((kind) => REDIRECT_KINDS[kind].all).join('; ');
  const text = `${displayName} refuses in it: ${kinds}. The relay warns of that when it starts.`;
  return `\n\n${sentence(profile, 'refusedRedirects', text)}`;
}

function describeReview(profile: Profile): string {
  return profile.review === undefined
    ? ''
    : `## Review\n\n${sentence(profile, 'review', profile.review)}`;
}

function settings(name: string, profile: Profile): string {
  const prefix = `${name.toUpperCase().replaceAll('-', '_')}_`;
  const lines = [
    `PROVIDERS=${name}`,
    ...(isSelfHosted(profile) ? [`${prefix}URL=${exampleUrlOf(name)}`] : []),
    `${prefix}CLIENT_ID=…`,
    ...(profile.clientSecret === 'required'
      ? [`${prefix}CLIENT_SECRET_FILE=/run/secrets/${name}`]
      : []),
    ...(profile.userAgentNames ? [`${prefix}USER_AGENT=…`] : []),
  ];
  const notes = [
    describeOwnUrl(prefix, profile),
    profile.clientSecret === 'optional'
      ? `If the app has a secret, set \`${prefix}CLIENT_SECRET_FILE\` too. Without one, only PKCE protects the code.`
      : '',
    profile.userAgentNames
      ? `\`${prefix}USER_AGENT\` should name ${profile.userAgentNames}. Unset, it is \`sign-in-relay\`.`
      : '',
    profile.scope === undefined
      ? `No scope is sent unless you set \`${prefix}SCOPE\`.`
      : `The scope is \`${profile.scope}\` unless you set \`${prefix}SCOPE\` to what your app needs${keepsRefreshing(profile)}.`,
  ].filter(Boolean);
  return `${list(lines, '    ')}\n\n${notes.join('\n')}`;
}

function isSelfHosted({ authorizeUrl, defaultUrl }: Profile): boolean {
  return authorizeUrl.includes(OWN_URL) && defaultUrl === undefined;
}

function describeOwnUrl(prefix: string, profile: Profile): string {
  const { authorizeUrl, defaultUrl, displayName } = profile;
  if (!authorizeUrl.includes(OWN_URL)) return '';
  return defaultUrl === undefined
    ? `\`${prefix}URL\` is the address of your ${displayName}, on which the endpoints below depend. The relay and the users’ browsers have to reach it. It must be https, or on this machine.`
    : `For a ${displayName} of your own set \`${prefix}URL\` to its address.`;
}

function keepsRefreshing({ refreshToken, scope }: Profile): string {
  const offline = scope?.split(' ').find((each) => each.startsWith('offline'));
  return refreshToken === 'with the scope above' && offline
    ? `; keep \`${offline}\` in it, or there is no refresh token`
    : '';
}

function expected({ refreshToken }: Profile): string {
  return refreshToken === 'never'
    ? 'It has an `accessToken`, and no `refreshToken`.'
    : 'It has an `accessToken` and a `refreshToken`.';
}

function describeRequests(profile: Profile): string {
  const { authorizeParams, quirks = {} } = profile;
  const { tokenRequest, clientIdHeader, refreshesWithRedirectUri } = quirks;
  const parameters = Object.entries(authorizeParams ?? {})
    .map(([name, value]) => `\`${name}=${value}\``)
    .join(' and ');
  const rows = [
    ['authorization endpoint', profile.authorizeUrl],
    ['token endpoint', profile.tokenUrl],
    ['PKCE', profile.pkce],
    ['scope', profile.scope === undefined ? 'none' : `\`${profile.scope}\``],
    ['parameters', parameters || 'none'],
    ['client secret', describeAuthentication(profile)],
    ['token request', tokenRequest ? 'JSON' : 'a form'],
    ['revocation endpoint', profile.revocation?.url ?? 'none'],
    ...(clientIdHeader ? [['client id also in', `the header \`${clientIdHeader}\``]] : []),
    ...(refreshesWithRedirectUri ? [['a refresh also has', '`redirect_uri`']] : []),
  ];
  return ['| | |', '|---|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}

function describeAuthentication({ clientAuth, clientSecret }: Profile): string {
  if (clientSecret === 'none') return 'none';
  const how = clientAuth === 'basic' ? 'HTTP Basic' : 'in the body (`post`)';
  return `${clientSecret}, ${how}`;
}

function describeRefreshToken({ refreshToken, authorizeParams }: Profile): string {
  switch (refreshToken) {
    case 'always':
      return 'with every sign-in.';
    case 'never':
      return 'never.';
    case 'with the scope above':
      return 'because of the scope.';
    case 'with the parameters above':
      return `because of ${Object.keys(authorizeParams ?? {})
        .map((name) => `\`${name}\``)
        .join(' and ')}.`;
  }
}

function describeSigningOut(profile: Profile): string {
  const { displayName, revocation, removeAt } = profile;
  if (revocation !== undefined) {
    const { url, takes, method = 'POST' } = revocation;
    const text = `The relay revokes the tokens of a user who signs out, by ${method} to ${url}.`;
    const detail = takes
      ? ' It takes only access tokens, so the relay first refreshes one that has expired.'
      : '';
    return sentence(profile, 'revocation', text + detail);
  }
  const forgets = `No revocation endpoint of ${displayName} that the relay can use is known, so an app that signs its user out can only forget the tokens. They work until they expire`;
  return removeAt === undefined
    ? `${forgets}, or until the user removes the app in the settings of the account.`
    : sentence(profile, 'removeAt', `${forgets}, or until the user removes the app: ${removeAt}.`);
}

function describeDeviceFlow(profile: Profile): string {
  const { displayName, deviceFlow } = profile;
  if (deviceFlow === 'none') return sentence(profile, 'deviceFlow', 'None was found.');
  const note = `If your app signs in only at ${displayName}, it may not need the relay.`;
  return `${sentence(profile, 'deviceFlow', deviceFlow)}

${note}`;
}

function describeSources({ evidence }: Profile): string {
  const { checked, sources, unverified = {} } = evidence;
  const names = (facts: readonly string[]) =>
    facts.map((fact) => nameOfFact(fact as FactName)).join(', ');
  const read = Object.entries(sources).map(([url, facts]) => `<${url}>: ${names(facts)}`);
  const doubts = Object.entries(unverified).map(
    ([fact, reason]) => `Unverified: ${names([fact])} (${reason})`,
  );
  return `Last checked on ${checked.on}, ${CHECKED_BY[checked.by]}:\n\n${list([...read, ...doubts], '- ')}`;
}
