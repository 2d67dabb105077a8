import { z } from 'zod';
import { DISCOVERY_BYTES, DISCOVERY_TIMEOUT_MS } from '../limits.ts';
import { findAddressProblem, findAuthorizeUrlProblem, findTokenUrlProblem } from './address.ts';
import { readAtMost } from './body.ts';
import type { ClientAuthentication, PkceMethod, Provider } from './provider.ts';
import type { Fetch } from './token-endpoint.ts';

/**
 * Asks an issuer for a provider's addresses.
 * @see OpenID Connect Discovery 1.0 §4 https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig
 * @see RFC 8414 §3 https://www.rfc-editor.org/rfc/rfc8414#section-3
 */

/** A provider given by `<PROVIDER>_ISSUER`: what is set here overrides what the issuer says. */
export interface ProviderToDiscover extends Partial<Provider> {
  readonly name: string;
  readonly displayName: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly authorizeParams: Readonly<Record<string, string>>;
}

export type Discovery =
  | { readonly ok: true; readonly provider: Provider }
  /** Why not, for the operator's log. Holds no secret. */
  | { readonly ok: false; readonly problem: string };

type Failure = Extract<Discovery, { ok: false }>;

const names = z.array(z.string()).nullish();

const documentSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string().nullish(),
  token_endpoint: z.string().nullish(),
  code_challenge_methods_supported: names,
  token_endpoint_auth_methods_supported: names,
});

type Metadata = z.infer<typeof documentSchema>;

/**
 * The provider as its issuer describes it, or why it cannot be used.
 * Never throws, follows no redirect, ends within `timeoutMs`, both tries together.
 */
export async function discoverProvider(
  asked: ProviderToDiscover,
  fetch: Fetch,
  timeoutMs: number = DISCOVERY_TIMEOUT_MS,
): Promise<Discovery> {
  const problem = findAddressProblem(asked.issuer);
  if (problem) return fail(`the issuer ${quote(asked.issuer)} ${problem}`);
  const signal = AbortSignal.timeout(timeoutMs);
  const [openId, oauth] = metadataAddresses(asked.issuer);
  let read = await readMetadata(openId, fetch, signal);
  if (!read.ok && read.isMissing) read = await readMetadata(oauth, fetch, signal);
  return read.ok ? describeProvider(asked, read.metadata) : { ok: false, problem: read.problem };
}

/** OpenID appends to the issuer's path, RFC 8414 §3.1 goes before it; neither keeps its last slash. */
function metadataAddresses(issuer: string): [openId: string, oauth: string] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

type MetadataRead =
  | { readonly ok: true; readonly metadata: Metadata }
  | (Failure & { readonly isMissing: boolean });

async function readMetadata(
  address: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<MetadataRead> {
  const failed = (problem: string, isMissing = false): MetadataRead => {
    return { ok: false, problem: `${address} ${problem}`, isMissing };
  };
  try {
    const response = await fetch(address, {
      // identity: an unasked-for compression could unfold to far more than the limit.
      headers: { Accept: 'application/json', 'Accept-Encoding': 'identity' },
      redirect: 'manual',
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      return failed(`answered ${response.status}`, response.status === 404);
    }
    const text = await readAtMost(response, DISCOVERY_BYTES);
    if (text === undefined) return failed(`is longer than ${DISCOVERY_BYTES} bytes`);
    const metadata = parseMetadata(text);
    return metadata ? { ok: true, metadata } : failed('is not a discovery document');
  } catch (error) {
    return failed(signal.aborted ? 'took too long' : `could not be read (${codeOf(error)})`);
  }
}

function parseMetadata(text: string): Metadata | undefined {
  try {
    return documentSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The code alone: a message may quote whatever the other side sent. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'no connection';
}

function describeProvider(asked: ProviderToDiscover, metadata: Metadata): Discovery {
  // Word for word, or one issuer could answer for another. RFC 8414 §3.3.
  if (metadata.issuer !== asked.issuer) {
    return fail(`the issuer ${asked.issuer} calls itself ${quote(metadata.issuer)}`);
  }
  const authorizeUrl = asked.authorizeUrl ?? metadata.authorization_endpoint ?? '';
  const tokenUrl = asked.tokenUrl ?? metadata.token_endpoint ?? '';
  const clientAuth = asked.clientAuth ?? chooseClientAuth(asked, metadata);
  const { issuer: _, ...given } = asked;
  // What the operator set was checked with the settings.
  const problem =
    (given.authorizeUrl === undefined &&
      findDiscoveredProblem(
        asked,
        'authorization_endpoint',
        authorizeUrl,
        findAuthorizeUrlProblem,
      )) ||
    (given.tokenUrl === undefined &&
      findDiscoveredProblem(asked, 'token_endpoint', tokenUrl, findTokenUrlProblem));
  if (problem) return fail(`${asked.issuer}: ${problem}`);
  if (!clientAuth) return fail(`${asked.issuer} takes the client secret neither by post nor basic`);
  const pkce = asked.pkce ?? choosePkce(metadata);
  return { ok: true, provider: { ...given, authorizeUrl, tokenUrl, clientAuth, pkce } };
}

function findDiscoveredProblem(
  { issuer }: ProviderToDiscover,
  field: string,
  address: string,
  findProblem: (address: string) => string | undefined,
): string | undefined {
  const isPlain = (text: string) => new URL(text).protocol === 'http:';
  // Loopback is this machine: only an issuer that is here itself may lead there.
  const problem =
    findProblem(address) ??
    (isPlain(address) && !isPlain(issuer) ? 'must be https, as its issuer is' : undefined);
  return problem && `${field} is ${quote(address)}: it ${problem}`;
}

/** Not saying means not having: RFC 8414 §2, `code_challenge_methods_supported`. */
function choosePkce({ code_challenge_methods_supported: methods }: Metadata): PkceMethod {
  if (methods?.includes('S256')) return 'S256';
  return methods?.includes('plain') ? 'plain' : 'none';
}

/** Not saying means `client_secret_basic`: OpenID Connect Discovery 1.0 §3. */
function chooseClientAuth(
  { clientSecret }: ProviderToDiscover,
  { token_endpoint_auth_methods_supported: methods }: Metadata,
): ClientAuthentication | undefined {
  // Without a secret there is nothing to choose: a public client sends its id in the form.
  if (!clientSecret || methods?.includes('client_secret_post')) return 'post';
  return !methods || methods.includes('client_secret_basic') ? 'basic' : undefined;
}

/** Text of the other side, safe on one line of a log. */
function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

function fail(problem: string): Failure {
  return { ok: false, problem };
}
