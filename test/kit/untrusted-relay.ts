/**
 * A relay that tries mass assignment (CWE-915): each of its responses has a member for every option of
 * a client, and all of them point to a stranger's server. A client must obey none: code, verifier
 * and tokens go to the provider here or back to the relay, and never to the stranger.
 */
import { serveUpstream } from './provider.ts';
import { plantSecret } from './secrets.ts';

/** What the relay offers: its own sign-ins, blind ones, or those of clients with a client id of their own. */
export type Offered = 'relayed' | 'blind' | 'open';

/** Every option of the client, every member of its tokens and of an unfinished sign-in, and what an object inherits. */
function extraMembers(origin: string): Readonly<Record<string, unknown>> {
  const endpoints = {
    tokenUrl: `${origin}/token`,
    revocationUrl: `${origin}/revoke`,
    authorizationUrl: `${origin}/authorize`,
    clientId: 'strange-client',
    issuer: origin,
    issuerRequired: true,
    redirectUri: `${origin}/callback`,
  };
  // As JSON has it: an own member of that name.
  const inherited = Object.fromEntries([['__proto__', endpoints]]);
  return {
    ...endpoints,
    ...inherited,
    constructor: endpoints,
    prototype: endpoints,
    open: endpoints,
    relay: origin,
    service: 'strange',
    account: 'strange',
    device: 'strange',
    code: 'strange-code',
    blind: false,
    details: true,
    headers: { 'X-Strange': '1' },
    fetch: 'strange',
    storage: {},
    origins: [origin],
    allowHttp: true,
    timeoutMs: 1,
    expiresAt: 1,
    verifier: 'strange-verifier-of-43-characters-of-a-relay',
    status: 500,
  };
}

/** Serves in this process, for clients of any origin. */
function serve(answer: (path: string, body: string) => object | undefined) {
  const headers = { 'Access-Control-Allow-Origin': '*' };
  const { origin, requests } = serveUpstream((_, body) => {
    const json = answer(requests.at(-1)?.path ?? '', body);
    if (json === undefined) return new Response(null, { status: 204, headers });
    return Response.json(json, { headers });
  });
  return { origin, asked: requests };
}

export type UntrustedRelay = ReturnType<typeof startUntrustedRelay>;

/** `callback`: members that the callback of an open sign-in has instead. Tokens are due at once. */
export function startUntrustedRelay(offered: Offered, callback: object = {}) {
  const stranger = serve(() => extra);
  const extra = extraMembers(stranger.origin);
  const code = plantSecret(`code-of-${offered}-sign-in-${crypto.randomUUID()}`);
  let granted = 0;
  const grant = () => {
    granted += 1;
    return {
      access: plantSecret(`access-${granted}-${crypto.randomUUID()}`),
      refresh: plantSecret(`refresh-${granted}-${crypto.randomUUID()}`),
    };
  };
  const grantByRelay = () => {
    const { access, refresh } = grant();
    const details = { tokenType: 'Bearer', scope: 'read' };
    return { ...extra, ...details, accessToken: access, refreshToken: refresh, expiresIn: 30 };
  };

  const provider = serve((path) => {
    if (path !== '/token') return {};
    const { access, refresh } = grant();
    const tokens = { access_token: access, refresh_token: refresh, expires_in: 30 };
    return { ...extra, ...tokens, token_type: 'Bearer', scope: 'read' };
  });
  /** The client's own, in an open sign-in. */
  let state: string | null = null;

  function resultOf(origin: string): object {
    const redirectUri = `${origin}/callback`;
    if (offered === 'relayed') return grantByRelay();
    if (offered === 'open') {
      const own = { code, ...(state !== null && { state }) };
      return { ...extra, redirectUri, callback: { ...extra, ...own, ...callback } };
    }
    const { origin: at } = provider;
    const endpoints = { tokenUrl: `${at}/token`, revocationUrl: `${at}/revoke`, clientId: 'own' };
    return { ...extra, ...endpoints, code, redirectUri };
  }

  const relay = serve((path, body) => {
    const { origin } = relay;
    if (path === '/services') {
      // Otherwise it does not say, as an older relay.
      const blind = offered === 'blind' ? 'must' : undefined;
      const services = [{ ...extra, service: 'mal', name: 'MyAnimeList', blind }];
      return { ...extra, services, extensions: ['open', 'ack', 'cancel'] };
    }
    if (path === '/auth/start' || path === '/open') {
      const { authorizationUrl } = JSON.parse(body) as { readonly authorizationUrl?: string };
      state = authorizationUrl ? new URL(authorizationUrl).searchParams.get('state') : null;
      const link = `${origin}/L/BCDF-GHJK`;
      const session = plantSecret(`poll-secret-${crypto.randomUUID()}`);
      const shown = { url: link, link, userCode: 'BCDF-GHJK', qr: `${link}.png` };
      return { ...extra, ...shown, session, redirectUri: `${origin}/callback`, expiresIn: 600 };
    }
    if (path === '/refresh') return grantByRelay();
    if (path === '/revoke') return {};
    return /[?&](ack|cancel)=1/.test(path) ? undefined : resultOf(origin);
  });

  return {
    url: relay.origin,
    code,
    /** For a client with a client id of its own. */
    open: {
      authorizationUrl: `${provider.origin}/authorize?scope=a`,
      tokenUrl: `${provider.origin}/token`,
      revocationUrl: `${provider.origin}/revoke`,
      clientId: 'own',
    },
    extra,
    /** What each of the three was asked so far. */
    asked: relay.asked,
    providerAsked: provider.asked,
    strangerAsked: stranger.asked,
  };
}
