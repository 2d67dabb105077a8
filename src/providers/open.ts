/**
 * Open sign-ins: a client with a client id and a verifier of its own borrows the relay's
 * redirect URI. Which authorization URLs are accepted, and where their users are sent.
 * docs/open.md.
 */
import { isChallenge } from '../relay/secrets.ts';
import type { CallbackResult } from '../relay/session.ts';
import type { ExchangeParameters } from '../relay/store.ts';
import { findUrlProblem } from './url.ts';

/** The authorization endpoints to which users may be sent, or any https endpoint. */
export type OpenEndpoints = '*' | readonly string[];

/** Browsers and servers take URLs of this length. */
const MAX_URL_CHARACTERS = 2_000;

/**
 * The service of an open sign-in is this and the host. No provider has such a name: it has a
 * space.
 */
const PREFIX = 'open ';

export const isOpenService = (service: string) => service.startsWith(PREFIX);

/** They could replace what the user is shown, or send the code elsewhere. RFC 9101, OAuth 2.0 Multiple Response Types. */
const FORBIDDEN = ['request', 'request_uri', 'response_mode'];

/** Address and query, without fragment and user name, in printable ASCII. A backslash is a slash to some parsers. */
const FORM = /^(https?:\/\/[^/?#@\\]+\/[^?#\\]*)\?([^#\\]*)$/;

/** `service` is for the store: 'open' and the host. `problem` is for the client's developer. */
type ReadAuthorization =
  | { readonly ok: true; readonly service: string; readonly challenge: string }
  | { readonly ok: false; readonly problem: string };

const fail = (problem: string): ReadAuthorization => ({ ok: false, problem });

/**
 * The address must be written as a browser writes it (lower case, no default port, no dot
 * segments, ASCII), so that no parser can read another one, and be on the list to the letter.
 */
export function readAuthorizationUrl(text: unknown, endpoints: OpenEndpoints): ReadAuthorization {
  if (typeof text !== 'string' || text.length > MAX_URL_CHARACTERS || !/^[!-~]+$/.test(text)) {
    return fail(`authorizationUrl must be a URL of up to ${MAX_URL_CHARACTERS} characters`);
  }
  const [, endpoint, query] = FORM.exec(text) ?? [];
  const url = URL.parse(text);
  if (endpoint === undefined || url === null || url.origin + url.pathname !== endpoint) {
    return fail('authorizationUrl must be written as a browser writes it, with a query');
  }
  const isListed = endpoints === '*' ? url.protocol === 'https:' : endpoints.includes(endpoint);
  if (!isListed) return fail('authorizationUrl is not at an endpoint of OPEN_ENDPOINTS');
  const parameters = new URLSearchParams(query);
  const problem = findParameterProblem(parameters);
  if (problem !== undefined) return fail(problem);
  const challenge = parameters.get('code_challenge') ?? '';
  return { ok: true, service: PREFIX + url.host, challenge };
}

function findParameterProblem(parameters: URLSearchParams): string | undefined {
  const names = [...parameters.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return 'authorizationUrl has a parameter twice';
  const forbidden = FORBIDDEN.find((name) => parameters.has(name));
  if (forbidden !== undefined) return `authorizationUrl must not have ${forbidden}`;
  if (parameters.get('response_type') !== 'code') return 'response_type must be code';
  if (!parameters.get('client_id')) return 'client_id is missing';
  const isS256 = parameters.get('code_challenge_method') === 'S256';
  if (!isS256 || !isChallenge(parameters.get('code_challenge'))) {
    return 'code_challenge must be there, with code_challenge_method=S256';
  }
  return undefined;
}

/** An entry of OPEN_ENDPOINTS. Undefined: it is good. */
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
export function openDestinationOf(service: string, baseUrl: string) {
  const host = service.slice(PREFIX.length);
  return {
    name: service,
    // What users read is the host: the client chooses no name.
    displayName: host,
    host,
    authorizeUrl(browserState: string, { authorizationUrl = '' }: ExchangeParameters): string {
      const url = new URL(authorizationUrl);
      url.searchParams.set('redirect_uri', openRedirectUri(baseUrl));
      url.searchParams.set('state', browserState);
      return url.href;
    },
  };
}

/** The query of the callback as it came, with the client's own state. */
export function callbackForClient(
  query: URLSearchParams,
  { authorizationUrl = '' }: ExchangeParameters,
  baseUrl: string,
): CallbackResult {
  const { state: _, ...callback } = Object.fromEntries(query);
  const state = new URL(authorizationUrl).searchParams.get('state');
  return {
    callback: { ...callback, ...(state !== null && { state }) },
    redirectUri: openRedirectUri(baseUrl),
  };
}
