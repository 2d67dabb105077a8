/**
 * The dev provider: an authorization server (RFC 6749, PKCE with S256) that accepts every
 * user name and ends each sign-in as requested, on its page or, in the tests of an app, by
 * `/next`. For development only: anyone can make its tokens.
 */
import { Buffer } from 'node:buffer';
import { hash, randomBytes } from 'node:crypto';
import { readAtMost } from '../../body.ts';
import { refuse } from '../../http/responses.ts';
import { systemClock } from '../../relay/time.ts';
import { hasOwnHost, isCrossOrigin, urlOf } from './access.ts';
import { authorizePage, listPage, messagePage } from './pages.tsx';
import { CLIENT_ID, type DevRelay } from './relay.ts';
import {
  describeScenario,
  type Plan,
  parseScenario,
  planFor,
  SCENARIO_NAMES,
  type ScenarioName,
} from './scenarios.ts';
import type { SignIns } from './sign-ins.ts';
import { readTvClient, readTvPage } from './tv.ts';

export interface DevProviderOptions {
  readonly relayUrl: string;
  readonly providerUrl: string;
  readonly signIns: SignIns;
  readonly say: (text: string) => void;
}

interface DevGrant {
  readonly user: string;
  readonly plan: Plan;
  readonly challenge: string;
  readonly redirectUri: string;
}

const TOKEN_SECONDS = 3_600;
/** How much of a form or a token request is read. */
const MAX_BODY_BYTES = 16_384;
/** The longest duration that a request can set. */
const MAX_SECONDS = 600;
/** Codes and refresh tokens that are remembered. The oldest is forgotten. */
const MAX_REMEMBERED = 1_000;
/** How many refreshes `refresh-503` refuses. */
const REFRESHES_REFUSED = 2;

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

export type DevProvider = ReturnType<typeof createDevProvider>;

export function createDevProvider(options: DevProviderOptions) {
  const { relayUrl, signIns, say } = options;
  const issuer = createTokenIssuer(say);
  let relay: DevRelay | undefined;

  function services(): readonly string[] {
    return relay?.services ?? [];
  }

  /** RFC 6749 §4.1.1. Undefined for a request that does not come from the dev relay. */
  function readAuthorization(query: URLSearchParams) {
    const redirectUri = query.get('redirect_uri') ?? '';
    const isKnown = services().some((name) => redirectUri === `${relayUrl}/auth/${name}/callback`);
    const challenge = query.get('code_challenge') ?? '';
    const isSound = query.get('client_id') === CLIENT_ID && query.get('response_type') === 'code';
    const isS256 = query.get('code_challenge_method') === 'S256' && challenge !== '';
    if (!isKnown || !isSound || !isS256) return undefined;
    return { redirectUri, challenge, state: query.get('state') ?? '' };
  }

  async function authorize(request: Request, url: URL): Promise<Response> {
    const asked = readAuthorization(url.searchParams);
    if (asked === undefined) {
      const text = 'To get here, open the link of a sign-in at the dev relay.';
      return page(400, messagePage('No sign-in', text));
    }
    const signIn = signIns.find(asked.state);
    const form = request.method === 'POST' ? await readForm(request) : undefined;
    const chosen = form === undefined ? signIn?.plan : planOf(form);
    // A user who gets here with "deny-at-relay" has not declined: ask how it should end.
    if (chosen === undefined || (form === undefined && chosen.scenario === 'deny-at-relay')) {
      return page(200, authorizePage(signIn?.deviceName));
    }
    if (signIn !== undefined) {
      signIn.plan = chosen;
      if (form !== undefined) signIns.note(signIn, chosen.scenario, `chosen: ${chosen.scenario}`);
    }
    return end(asked, chosen, form?.get('name') || 'Ada');
  }

  async function end(
    asked: { readonly redirectUri: string; readonly challenge: string; readonly state: string },
    plan: Plan,
    user: string,
  ): Promise<Response> {
    const back = (result: Record<string, string>) => {
      const query = new URLSearchParams({ ...result, state: asked.state });
      return redirect(`${asked.redirectUri}?${query}`);
    };
    const withCode = () => {
      const { challenge, redirectUri } = asked;
      return back({ code: issuer.createCode({ user, plan, challenge, redirectUri }) });
    };
    switch (plan.scenario) {
      case 'deny':
      case 'deny-at-relay':
        return back({ error: 'access_denied' });
      case 'provider-error':
        return back({ error: 'server_error' });
      case 'no-code':
        return back({});
      case 'never':
        return page(200, messagePage('Nothing happens', 'This sign-in never finishes.'));
      case 'expires': {
        const signIn = signIns.find(asked.state);
        // If it was planned before the start, the session has this lifetime already.
        if (signIn !== undefined) systemClock.setTimer(plan.seconds * 1_000, signIn.expire);
        const text = `This sign-in expires within ${plan.seconds} s, unfinished.`;
        return page(200, messagePage('It expires', text));
      }
      case 'slow':
        await pause(plan.seconds / 2);
        return withCode();
      case 'restart':
      case 'forgotten':
        await relay?.restart(plan.seconds, plan.scenario === 'restart');
        return withCode();
      default:
        return withCode();
    }
  }

  /** Called by a test or from the page. */
  async function planNext(request: Request): Promise<Response> {
    if (request.method === 'DELETE') signIns.clearPlans();
    if (request.method !== 'POST') return json({ planned: signIns.planned });
    const { scenario: named, seconds, auto } = readAsked(await readText(request));
    const scenario = parseScenario(named);
    if (scenario === undefined) {
      const error = named === undefined ? NO_SCENARIO : 'unknown scenario';
      return json({ error, scenarios: SCENARIO_NAMES }, 400);
    }
    const isDuration =
      seconds === undefined ||
      (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS);
    if (!isDuration || (auto !== undefined && typeof auto !== 'boolean')) {
      const error = `seconds is a number up to ${MAX_SECONDS}, auto is true or false`;
      return json({ error }, 400);
    }
    const plan = planFor(scenario, seconds as number | undefined, auto === true);
    signIns.plan(plan);
    say(`the next sign-in is planned to end as "${scenario}"`);
    const isBrowser = request.headers.get('accept')?.includes('text/html');
    return isBrowser ? redirect('/') : json({ planned: signIns.planned });
  }

  /** The user of the latest sign-in that waits for one: it ends as planned, or with tokens. */
  function openLatest(request: Request): Response {
    const signIn = request.method === 'POST' ? signIns.findWaiting() : undefined;
    if (signIn === undefined) return json({ error: 'no sign-in waits for its user' }, 409);
    signIn.plan ??= planFor('approve');
    relay?.open(signIn);
    return json({ number: signIn.number, service: signIn.service, device: signIn.deviceName });
  }

  /** Starts a sign-in as a device would, and redirects the browser to its link. */
  async function tryOut(scenario: ScenarioName): Promise<Response> {
    const [service = ''] = services();
    signIns.putBack(planFor(scenario));
    const started = await relay?.handle(
      new Request(`${relayUrl}/auth/start`, {
        method: 'POST',
        // Users see it, in their own language.
        body: JSON.stringify({ service, code: true, ack: true, device: `/try/${scenario}` }),
      }),
      { requestIP: () => ({ address: '127.0.0.1' }) },
    );
    if (started?.status !== 200) {
      const text = `The device got ${started?.status} ${(await started?.text())?.trim()}.`;
      return page(200, messagePage('The start was refused', text));
    }
    return redirect(((await started.json()) as { url: string }).url);
  }

  /** The page reads the relay's base URL from its own query. */
  function showTv({ searchParams }: URL): Response {
    if (!searchParams.has('relay'))
      return redirect(`/tv?${new URLSearchParams({ relay: relayUrl })}`);
    const text = readTvPage();
    if (text !== undefined) return page(200, text);
    const problem = 'This image was built from source. The one of a release has a television.';
    return page(404, messagePage('No television', problem));
  }

  async function sendTvClient(): Promise<Response> {
    try {
      const headers = { ...COMMON, 'Content-Type': 'text/javascript; charset=utf-8' };
      return new Response(await readTvClient(), { headers });
    } catch {
      say('the client for televisions could not be built. Run npm ci, then start again');
      return new Response(null, { status: 503, headers: COMMON });
    }
  }

  /** A page of another site must not choose how sign-ins end, nor read what happened. */
  function findRefusal(request: Request, url: URL): string | undefined {
    if (!hasOwnHost(url)) {
      return `${url.host} is not a name of this machine: use its IP address, or localhost`;
    }
    const changes = !isRead(request) || url.pathname.startsWith(TRY);
    if (!changes || !isCrossOrigin(request, url)) return undefined;
    return 'only programs and pages of this origin may do this';
  }

  async function route(request: Request, url: URL): Promise<Response> {
    const { pathname } = url;
    const refusal = findRefusal(request, url);
    if (refusal !== undefined) {
      say(`${request.method} ${pathname} got 403: ${refusal}`);
      return json({ error: refusal }, 403);
    }
    const isTry = isRead(request) && pathname.startsWith(TRY);
    const tried = isTry ? parseScenario(pathname.slice(TRY.length)) : undefined;
    if (tried !== undefined) return tryOut(tried);
    switch (pathname) {
      case '/':
        return page(200, listPage({ ...options, services: services() }));
      case '/authorize':
        return authorize(request, url);
      case '/next':
        return planNext(request);
      case '/open':
        return openLatest(request);
      case '/scenarios':
        return json(
          SCENARIO_NAMES.map((scenario) => ({ scenario, ...describeScenario(scenario) })),
        );
      case '/tv':
        return showTv(url);
      // The page names it by this path, to work from a file too.
      case '/client/dist/tv.js':
        return sendTvClient();
      default:
        return page(404, messagePage('Not found', 'There is no such page.'));
    }
  }

  /** Called by apps, web apps too (CORS): each needs a code or a token. */
  const forApps = new Map<string, (request: Request) => Response | Promise<Response>>([
    ['/token', issuer.issue],
    ['/revoke', issuer.revoke],
    ['/userinfo', issuer.userinfo],
  ]);

  return {
    attach(attached: DevRelay): void {
      relay = attached;
    },
    async handle(request: Request): Promise<Response> {
      const url = urlOf(request);
      if (url === undefined) return refuse('malformed_request');
      const answer = forApps.get(url.pathname);
      if (answer === undefined) return route(request, url);
      const isPreflight = request.method === 'OPTIONS';
      const response = isPreflight ? new Response(null, { status: 204 }) : await answer(request);
      for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
      return response;
    },
  };
}

/** Decided by the button that was pressed, or else by the user name. */
function planOf(form: URLSearchParams): Plan {
  const scenario = parseScenario(form.get('ending')) ?? parseScenario(form.get('name'));
  return planFor(scenario ?? 'approve');
}

/** The codes that the relay got, and its tokens. RFC 6749 §4.1.3, §6, RFC 7009 §2. */
function createTokenIssuer(say: (text: string) => void) {
  const grants = new Map<string, DevGrant>();
  /** Refresh token -> how often it was used, with `refresh-rotates` and `refresh-503`. */
  const refreshes = new Map<string, number>();
  const revoked = new Map<string, true>();

  async function exchange(form: URLSearchParams): Promise<Response> {
    const code = form.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    const isSame = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri');
    if (grant === undefined || !isSame) return tokenError('invalid_grant');
    const { plan, user } = grant;
    if (plan.scenario === 'exchange-fails') return tokenError('server_error', 500);
    if (plan.scenario === 'slow') await pause(plan.seconds / 2);
    return tokens(user, plan.scenario, createToken('refresh', user, plan.scenario));
  }

  function refresh(token: string): Response {
    const read = readToken('refresh', token);
    if (read === undefined || revoked.has(token)) return tokenError('invalid_grant');
    const { user, scenario } = read;
    const times = refreshes.get(token) ?? 0;
    if (scenario === 'refresh-refused') return tokenError('invalid_grant');
    if (scenario === 'refresh-503' && times < REFRESHES_REFUSED) {
      remember(refreshes, token, times + 1);
      say(`a refresh got 503 from the provider, ${times + 1} of ${REFRESHES_REFUSED}`);
      return tokenError('temporarily_unavailable', 503);
    }
    if (scenario !== 'refresh-rotates') {
      say('a refresh brought a new access token');
      return tokens(user, scenario, undefined);
    }
    if (times > 0) {
      say('a refresh used an old refresh token: the app must keep the new one');
      return tokenError('invalid_grant');
    }
    remember(refreshes, token, 1);
    say('a refresh brought a new access token and a new refresh token');
    return tokens(user, scenario, createToken('refresh', user, scenario));
  }

  return {
    createCode(grant: DevGrant): string {
      const code = `dev-code-${randomText()}`;
      remember(grants, code, grant);
      return code;
    },

    async issue(request: Request): Promise<Response> {
      if (request.method !== 'POST') return tokenError('invalid_request');
      const form = await readForm(request);
      if (form.get('client_id') !== CLIENT_ID) return tokenError('invalid_client', 401);
      const grantType = form.get('grant_type');
      if (grantType === 'authorization_code') return exchange(form);
      if (grantType === 'refresh_token') return refresh(form.get('refresh_token') ?? '');
      return tokenError('unsupported_grant_type');
    },

    async revoke(request: Request): Promise<Response> {
      if (request.method !== 'POST') return tokenError('invalid_request');
      const form = await readForm(request);
      if (form.get('client_id') !== CLIENT_ID) return tokenError('invalid_client', 401);
      const token = form.get('token') ?? '';
      const kind = KINDS.find((each) => readToken(each, token) !== undefined);
      if (kind !== undefined && !revoked.has(token)) {
        remember(revoked, token, true);
        say(`the app signed out: its ${kind} token was revoked`);
      }
      return new Response(null, { headers: COMMON });
    },

    userinfo({ headers }: Request): Response {
      const token = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
      const read = readToken('access', token);
      const isExpired = read === undefined || read.atMs + TOKEN_SECONDS * 1_000 < Date.now();
      if (isExpired || revoked.has(token)) {
        const header = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
        return json({ error: 'invalid_token' }, 401, header);
      }
      return json({ sub: read.user, name: read.user });
    },
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization',
};

/** With `no-referrer` a browser would hide the Origin of a form, by which another site's form is recognized. */
const COMMON = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'same-origin' };

function page(status: number, html: string): Response {
  const headers = {
    ...COMMON,
    'Content-Type': 'text/html; charset=utf-8',
    // Against clickjacking.
    'Content-Security-Policy': "frame-ancestors 'none'",
  };
  return new Response(html, { status, headers });
}

function json(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...COMMON, ...headers } });
}

const redirect = (location: string) =>
  new Response(null, { status: 303, headers: { ...COMMON, Location: location } });

const tokenError = (error: string, status = 400) => json({ error }, status);

const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';

/** Followed by a scenario. */
const TRY = '/try/';

const randomText = () => randomBytes(18).toString('base64url');

async function readText(request: Request): Promise<string> {
  if (request.body === null) return '';
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  return (await readAtMost(reader, MAX_BODY_BYTES)).text;
}

async function readForm(request: Request): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(request));
}

interface Asked {
  readonly scenario?: unknown;
  readonly seconds?: unknown;
  readonly auto?: unknown;
}

/** JSON, or else a form, whatever the content type: that of `curl -d` is always a form. */
function readAsked(text: string): Asked {
  try {
    return Object(JSON.parse(text)) as Asked;
  } catch {
    const { seconds, auto, ...form } = Object.fromEntries(new URLSearchParams(text));
    return {
      ...form,
      ...(seconds !== undefined && { seconds: Number(seconds) }),
      ...(auto !== undefined && { auto: BOOLEANS.get(auto) ?? auto }),
    };
  }
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

const NO_SCENARIO = 'name a scenario: {"scenario":"deny"}';

function tokens(user: string, scenario: ScenarioName, refreshToken: string | undefined): Response {
  return json({
    access_token: createToken('access', user, scenario),
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    scope: 'profile',
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  });
}

/**
 * A token contains its user and its scenario, so that it works after a restart of the dev
 * relay. Anyone could make one.
 */
function createToken(kind: 'access' | 'refresh', user: string, scenario: ScenarioName): string {
  const name = Buffer.from(user.slice(0, 40)).toString('base64url');
  return ['dev', kind, scenario, name, Date.now().toString(36), randomText()].join('.');
}

const KINDS = ['access', 'refresh'] as const;

function readToken(kind: 'access' | 'refresh', token: string) {
  const [dev, tokenKind, scenarioName, name = '', at = ''] = token.split('.');
  const scenario = parseScenario(scenarioName);
  if (dev !== 'dev' || tokenKind !== kind || scenario === undefined) return undefined;
  return {
    scenario,
    user: Buffer.from(name, 'base64url').toString(),
    atMs: Number.parseInt(at, 36),
  };
}
