/**
 * Signs an MCP client in through an open sign-in (docs/open.md): an `OAuthClientProvider` of the
 * official SDK, @modelcontextprotocol/sdk. The SDK finds the authorization server, registers the
 * client and sends the token requests, since it knows how this client authenticates and for which
 * server. A session signs the user in, keeps the tokens and has the lock of a refresh.
 */
import { parse } from './ask.ts';
import { createPlatform } from './fetch.ts';
import type { Prompt, SessionOptions, SignInError } from './index.ts';
import { lockFor } from './lock.ts';
import { createCore, type Session } from './session.ts';
import { createQueue, keyOf, type SessionStorage } from './storage.ts';
import { addressOf } from './tokens.ts';

export interface RelayProviderOptions
  extends Pick<SessionOptions, 'relay' | 'headers' | 'allowHttp' | 'fetch'> {
  /** The URL of the MCP server. */
  readonly server: string | URL;
  /** Where the registration, the tokens and an unfinished sign-in are kept. */
  readonly storage: SessionStorage;
  /** Shows the link. Called again with a new one when it has expired. */
  readonly onPrompt: (prompt: Prompt) => void;
  /** The client's name, which the user sees: up to 40 characters. */
  readonly name?: string | undefined;
}

/** The members of a registration that are read (RFC 7591 §3.2.1). The SDK gets all of it back. */
interface Client {
  readonly client_id: string;
  readonly scope?: string | undefined;
}

/** What is read of RFC 8414 and RFC 9728 metadata, whose form the SDK has checked. */
interface Discovery {
  readonly authorizationServerUrl: string;
  readonly authorizationServerMetadata?:
    | {
        readonly issuer: string;
        readonly authorization_endpoint: string;
        readonly token_endpoint: string;
        readonly revocation_endpoint?: string | undefined;
        readonly authorization_response_iss_parameter_supported?: unknown;
      }
    | undefined;
  readonly resourceMetadata?:
    | {
        readonly resource: string;
        readonly scopes_supported?: readonly string[] | undefined;
      }
    | undefined;
}

/** What is stored beside the tokens. */
interface StoredRegistration {
  readonly discovery?: Discovery | undefined;
  readonly client?: Client | undefined;
  /** The `state` of the unfinished sign-in. */
  readonly state?: string | undefined;
}

export type RelayProvider = ReturnType<typeof relayProvider>;

/** Returns the `authProvider` of a transport. Connecting shows the prompt and waits until the user has signed in. */
export function relayProvider(options: RelayProviderOptions) {
  const { relay, headers, allowHttp, name = 'An MCP client', storage, onPrompt } = options;
  const base = addressOf(options);
  const service = `${options.server}`;
  const key = `mcp-${keyOf({ relay, service })}`;
  const { fetch = (url: string, init: object) => globalThis.fetch(url, init) } = options;
  const platform = createPlatform();
  const inTurn = createQueue(platform);
  const lock = lockFor(platform, storage, key);

  /** What the storage had under `key`, as text and as it was read. */
  let text: string | null | undefined;
  let kept: StoredRegistration = {};
  /** What the SDK has found. Another process may have stored another server since. */
  let found: Discovery | undefined;
  let session: Session | undefined;
  /** The access token that the SDK has. */
  let sdkToken: string | undefined;
  /** Set while the SDK waits for a token request of the session. */
  let takeForm: ((form: URLSearchParams) => void) | undefined;
  /** Set while the session waits for the response to it. */
  let answer: ((response: Response) => void) | undefined;
  /** Settled when the session has stored the tokens. */
  let current: Promise<void> = Promise.resolve();
  /** Settled when it has stored the tokens of all callers. */
  let last: Promise<void> = current;

  /** Reads the storage again, because another process may have written to it. */
  const load = () =>
    inTurn('read', async () => {
      const stored = await storage.getItem(key);
      // A session has refreshed tokens that could not be stored.
      if (stored === text) return;
      text = stored;
      kept = Object(parse(text));
      session = openSession(kept);
    });

  /** One process at a time reads and writes, so that no write is based on a stale read. */
  const keep = (change: () => StoredRegistration) =>
    lock(async () => {
      await load();
      const changed = JSON.stringify({ ...kept, ...change() });
      await inTurn('write', () => storage.setItem(key, changed));
      await load();
    });

  /** A session has one authorization URL, and so one `state`. All have the same stored tokens. */
  function openSession({ discovery, client, state }: StoredRegistration): Session | undefined {
    if (!discovery || !client) return undefined;
    const { authorizationServerMetadata: metadata, authorizationServerUrl } = discovery;
    // Only names the server: the SDK knows the endpoint. As `URL` writes it, with a path.
    const { href: tokenUrl } = new URL(metadata?.token_endpoint ?? authorizationServerUrl);
    // No server gets the tokens of another one.
    const tokensKey = keyOf({ relay, service, account: authorizationServerUrl });
    const sessionOptions = {
      relay,
      service,
      headers,
      allowHttp,
      device: name,
      open: {
        authorizationUrl: authorizationUrlOf(discovery, client, state),
        tokenUrl,
        clientId: client.client_id,
        revocationUrl: metadata?.revocation_endpoint,
        issuer: metadata && issuerOf(metadata.issuer, authorizationServerUrl),
        issuerRequired: metadata?.authorization_response_iss_parameter_supported === true,
      },
    };
    const own = createPlatform((url, init) => (url === tokenUrl ? passOn(init) : fetch(url, init)));
    return createCore(own, sessionOptions, storage, tokensKey, lockFor(own, storage, tokensKey));
  }

  /** The SDK sends a token request to the server that it has found. */
  function ownSession(): Session {
    if (session && serverOf(kept.discovery) === serverOf(found)) return session;
    throw new Error('The registration was changed meanwhile: connect again');
  }

  /** Lets the SDK send a token request of the session. If the SDK is not waiting for one, the session gives up. */
  function passOn({ body }: { readonly body?: string }): Promise<Response> {
    const form = new URLSearchParams(body);
    // The SDK authenticates.
    form.delete('client_id');
    const take = takeForm;
    takeForm = undefined;
    if (!take) return Promise.resolve(refusal('invalid_request'));
    take(form);
    return new Promise((resolve) => {
      answer = resolve;
    });
  }

  /** Refreshes, or lets the user sign in, until the SDK has a token request. Waits until the tokens are stored. */
  async function obtain(rejected: string | undefined): Promise<void> {
    while (takeForm) {
      const own = ownSession();
      const { accessToken, refreshToken } = (await own.getTokens()) ?? {};
      if (refreshToken) {
        // If another process was faster, its tokens are refreshed again: the SDK must send a request.
        await own.getToken({ rejected: accessToken }).catch((error) => {
          // If the SDK was refused, it asks again. If another process was, the user signs in.
          if (error.code !== 'invalid_grant') throw error;
        });
      } else if (accessToken && accessToken !== rejected) {
        throw new Error('The user has signed in meanwhile: send the request again');
      } else await signIn();
    }
  }

  async function signIn(): Promise<void> {
    // Another process may sign in too, or was killed while it did: the session continues with its link.
    await keep(() => ({ state: kept.state ?? crypto.randomUUID() }));
    const signing = ownSession();
    let shown: Prompt | undefined;
    signing.subscribe(() => {
      const { state } = signing;
      if (state.status !== 'waiting' || state.prompt === shown) return;
      shown = state.prompt;
      onPrompt(shown);
    });
    const error = await signing.signIn().then(
      () => undefined,
      (reason: SignInError) => reason,
    );
    // A server that has forgotten the client shows an error to the user, who then never returns.
    const isForgotten = error?.code === 'expired';
    await keep(() => ({ state: undefined, ...(isForgotten && { client: undefined }) }));
    if (error) throw error;
  }

  return {
    /** Undefined, so that the SDK does not redirect but sends a token request when the user is back. */
    redirectUrl: undefined,

    clientMetadata: {
      client_name: name,
      redirect_uris: [`${base}/open/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },

    /** Authorization servers that read such documents require https. */
    ...(/^https:/.test(base) && { clientMetadataUrl: `${base}/open/client.json` }),

    /** The SDK calls `saveDiscoveryState` first, which reads the storage. */
    clientInformation: (): Client | undefined => kept.client,

    /** Two processes that register at the same time both use the first client. */
    saveClientInformation(client: Client): Promise<void> {
      return keep(() => (kept.client ? {} : { discovery: found, client }));
    },

    /** Discards what another authorization server issued: it must not be sent to this one. */
    async saveDiscoveryState(state: Discovery): Promise<void> {
      const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = state;
      // The SDK does not say for which of several discoveries it asks for a token request.
      if (found && serverOf(found) !== authorizationServerUrl) {
        throw new Error('The MCP server names another authorization server: restart the client');
      }
      await load();
      const { discovery: before } = kept;
      const isOther = before && serverOf(before) !== authorizationServerUrl;
      // The SDK takes a failure of these requests for an old server that has no metadata.
      const isLost = isOther
        ? !resourceMetadata
        : before?.authorizationServerMetadata && !authorizationServerMetadata;
      if (isLost) throw new Error('The metadata of the server are missing: try again, or sign out');
      if (isOther) await session?.signOut();
      found = { authorizationServerUrl, authorizationServerMetadata, resourceMetadata };
      await keep(() => ({ discovery: found, ...(isOther && { client: undefined }) }));
    },

    /** Leaves out the refresh token, so that the SDK asks for a token request when a server refuses the access token. */
    async tokens() {
      await load();
      sdkToken = (await session?.getTokens())?.accessToken;
      return sdkToken === undefined ? undefined : { access_token: sdkToken, token_type: 'Bearer' };
    },

    /** Calls run one after the other, because several requests may be refused at once. */
    prepareTokenRequest(): Promise<URLSearchParams> {
      const rejected = sdkToken;
      return new Promise((resolve, reject) => {
        const run = async () => {
          takeForm = resolve;
          current = obtain(rejected).finally(() => {
            answer = undefined;
          });
          await current.catch(reject);
        };
        last = last.then(run);
      });
    },

    async saveTokens(tokens: object): Promise<void> {
      if (!answer) throw new Error('The tokens came too late');
      answer(Response.json(tokens));
      await current;
    },

    /** `all` and `tokens` sign out, unless the SDK calls this during a sign-in or a refresh. */
    async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
      await load();
      if (scope === 'client') await keep(() => ({ client: undefined }));
      if (scope !== 'all' && scope !== 'tokens') return;
      if (answer) {
        answer(refusal('invalid_grant'));
        await current.catch(() => {});
      } else await session?.signOut();
      if (scope === 'all') await keep(() => ({ discovery: undefined, client: undefined }));
    },

    /** The session has the verifier. The SDK asks for these two only if there is a `redirectUrl`. */
    saveCodeVerifier() {},
    codeVerifier: () => '',
    redirectToAuthorization() {},
  };
}

const refusal = (error: string) => Response.json({ error }, { status: 400 });

const serverOf = (discovery: Discovery | undefined) => discovery?.authorizationServerUrl;

/**
 * The SDK does not compare the issuer that metadata name with the server that sent them. A server
 * that names another one's issuer and authorization endpoint, and a token endpoint of its own, would
 * get that one's code. RFC 8414 §3.3, RFC 9700 §4.4. A final slash is often missing.
 */
function issuerOf(named: string, authorizationServerUrl: string): string {
  const [one, other] = [named, authorizationServerUrl].map((url) => url.replace(/\/$/, ''));
  return one === other ? named : authorizationServerUrl;
}

/** The session adds the client and the challenge, the relay the redirect URI. RFC 8707 §2. */
function authorizationUrlOf(discovery: Discovery, client: Client, state = ''): string {
  const { authorizationServerMetadata: metadata, resourceMetadata } = discovery;
  const url = new URL(metadata?.authorization_endpoint ?? '/authorize', serverOf(discovery));
  const scope = client.scope ?? resourceMetadata?.scopes_supported?.join(' ');
  if (scope) url.searchParams.set('scope', scope);
  // OpenID Connect Core 1.0 §11.
  if (scope?.includes('offline_access')) url.searchParams.set('prompt', 'consent');
  if (resourceMetadata) url.searchParams.set('resource', resourceMetadata.resource);
  url.searchParams.set('state', state);
  // Some servers read `+` as a plus.
  url.search = url.search.replace(/\+/g, '%20');
  return url.href;
}
