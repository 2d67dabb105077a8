/**
 * Open sign-ins: a client with a client id and a verifier of its own borrows the relay's
 * redirect URI. Which authorization URLs are accepted, and where their users are sent.
 * docs/open.md.
 */
import { isChallenge } from '../sign-ins/secrets.ts';
import type { CallbackResult } from '../sign-ins/session.ts';
import { findUrlProblem } from './url.ts';

/** The authorization endpoints to which users may be sent, or any https endpoint. */
export type OpenEndpoints = '*' | readonly string[];

/** All browsers and servers accept URLs of this length. */
const MAX_URL_CHARACTERS = 2_000;

/** The service of every open sign-in, also in the log and the metrics: no provider may have this name. */
export const OPEN_SERVICE = 'open';

/** These parameters could replace what the user is shown, or send the code elsewhere. RFC 9101, OAuth 2.0 Multiple Response Types. */
const FORBIDDEN = ['request', 'request_uri', 'response_mode'];

/** The relay replaces these with its own values. */
const REPLACED = ['redirect_uri', 'state'];

/** The only parameter that may be repeated. RFC 8707 §2. */
const REPEATABLE = 'resource';

/** Address and query, without fragment and user name, in printable ASCII. A backslash is a slash to some parsers. */
const FORM = /^(https?:\/\/[^/?#@\\]+\/[^?#\\]*)\?([^#\\]*)$/;

/** The host of an endpoint, if any https endpoint is allowed: a name of the DNS, or an address. RFC 1035 §2.3.4. */
const HOST = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]+\])$/;

/**
 * What is wrong with the authorization URL of a client, for its developer. The address must be written as a browser writes it (lower case, no default port, no dot
 * segments, ASCII), so that no parser can read another one, and be on the list to the letter.
 */
export function findAuthorizationUrlProblem(
  text: string,
  endpoints: OpenEndpoints,
): string | undefined {
  if (text.length > MAX_URL_CHARACTERS || !/^[!-~]+$/.test(text)) {
    return `authorizationUrl must be a URL of up to ${MAX_URL_CHARACTERS} characters`;
  }
  const [, endpoint, query = ''] = FORM.exec(text) ?? [];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (endpoint === undefined || url === undefined || url.origin + url.pathname !== endpoint) {
    return 'authorizationUrl must be written as a browser writes it, with a query';
  }
  const isListed =
    endpoints === '*'
      ? url.protocol === 'https:' && HOST.test(url.hostname)
      : endpoints.includes(endpoint);
  if (!isListed) return 'authorizationUrl is not an endpoint that this relay allows';
  const parameters = readParameters(query);
  return parameters === undefined ? MALFORMED : findParameterProblem(parameters);
}

/** A parameter of a query, decoded, and its text as the client wrote it. */
interface Parameter {
  readonly name: string;
  readonly value: string;
  readonly text: string;
}

const MALFORMED = 'authorizationUrl has a malformed percent-escape, or a ; in its query';

/**
 * Undefined if servers could read it in different ways: some split a query at `;`, and each
 * treats an escape that is no UTF-8 differently.
 */
function readParameters(query: string): Parameter[] | undefined {
  if (query.includes(';')) return undefined;
  try {
    return query.split('&').map((text) => {
      const [name = '', ...rest] = text.split('=');
      return { name: decode(name), value: decode(rest.join('=')), text };
    });
  } catch {
    return undefined;
  }
}

/** Throws for a malformed escape. */
const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

const findValue = (parameters: readonly Parameter[], name: string) =>
  parameters.find((each) => each.name === name)?.value ?? '';

/**
 * The name as lenient servers read it. PHP drops blanks before it, turns a dot into `_`, and cuts
 * the name at `[`, or turns that into `_` if no `]` follows. Rack and Express drop brackets before
 * it, Rack also one `]` after it. Other servers ignore case.
 */
const lenientReadings = (name: string) =>
  [name.replace(/^[[\]]+/, '').replace(/[[\]].*$/s, ''), name.replace('[', '_')].map((each) =>
    each
      .trimStart()
      .replace(/[;\0].*$/s, '')
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '_'),
  );

function findParameterProblem(parameters: readonly Parameter[]): string | undefined {
  const seen = new Set<string>();
  for (const { name, text } of parameters) {
    for (const read of lenientReadings(name)) {
      if (FORBIDDEN.includes(read)) return `authorizationUrl must not have ${read}`;
      if (REPLACED.includes(read) && name !== read) {
        return `authorizationUrl has ${read} in another spelling`;
      }
    }
    if (text !== '' && name !== REPEATABLE && seen.has(name)) {
      return 'authorizationUrl has a parameter twice';
    }
    seen.add(name);
  }
  if (findValue(parameters, 'response_type') !== 'code') return 'response_type must be code';
  if (findValue(parameters, 'client_id') === '') return 'client_id is missing';
  const isS256 = findValue(parameters, 'code_challenge_method') === 'S256';
  if (!isS256 || !isChallenge(findValue(parameters, 'code_challenge'))) {
    return 'code_challenge must be there, with code_challenge_method=S256';
  }
  return undefined;
}

/** Returns undefined when the entry of OPEN_ENDPOINTS is valid. */
export function findEndpointProblem(text: string): string | undefined {
  const problem = findUrlProblem(text);
  if (problem !== undefined) return problem;
  const { origin, pathname } = new URL(text);
  return text === origin + pathname
    ? undefined
    : `must be written as ${origin + pathname}: an address without a query`;
}

export type OpenDestination = ReturnType<typeof openDestinationOf>;

export const openRedirectUri = (baseUrl: string) => `${baseUrl}/open/callback`;

/** Where the user of an open sign-in is sent: the client's URL, with the relay's redirect URI and state. */
export function openDestinationOf(authorizationUrl: string, baseUrl: string) {
  const { host } = new URL(authorizationUrl);
  return {
    name: OPEN_SERVICE,
    // Users see the host, because the client's own name could be anyone's.
    displayName: host,
    host,
    /** Keeps the client's text except for the two parameters: a server may read `+` and `%20` differently. */
    authorizeUrl(browserState: string): string {
      const [, endpoint, query = ''] = FORM.exec(authorizationUrl) ?? [];
      const own = readParameters(query) ?? [];
      const kept = own.filter(({ name }) => !REPLACED.includes(name)).map(({ text }) => text);
      const redirectUri = encodeURIComponent(openRedirectUri(baseUrl));
      return `${endpoint}?${[...kept, `redirect_uri=${redirectUri}`, `state=${browserState}`].join('&')}`;
    },
  };
}

/** What the provider sent to the callback, each parameter once, with the client's own state. */
export function callbackForClient(
  query: URLSearchParams,
  authorizationUrl: string,
  baseUrl: string,
): CallbackResult {
  // The first value counts: it is the `code` that the relay has checked.
  const callback = new Map([...query].reverse());
  callback.delete('state');
  const state = new URL(authorizationUrl).searchParams.get('state');
  if (state !== null) callback.set('state', state);
  return { callback: Object.fromEntries(callback), redirectUri: openRedirectUri(baseUrl) };
}
