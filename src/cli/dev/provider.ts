/**
 * The dev provider: an authorization server (RFC 6749, PKCE with S256) that accepts every
 * user name and ends each sign-in as requested, on its page or, in the tests of an app, by
 * `/next`. For development only: anyone can make its tokens.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../../http/responses.ts';
import { systemClock } from '../../sign-ins/time.ts';
import {
  hasOwnHost,
  isCrossOrigin,
  isOwnLink,
  json,
  page,
  readForm,
  readText,
  redirect,
  respond,
  urlOf,
} from './http.ts';
import { authorizePage, listPage, messagePage } from './pages.tsx';
import { CLIENT_ID, type DevRelay, LOCAL_PEERS } from './relay.ts';
import {
  describeScenario,
  type Plan,
  parseScenario,
  planFor,
  SCENARIO_NAMES,
  type ScenarioName,
} from './scenarios.ts';
import type { DevSignIn, SignIns } from './sign-ins.ts';
import { createTokenIssuer, type TokenIssuer } from './tokens.ts';
import { readTvClient, readTvPage } from './tv.ts';

export interface DevProviderOptions {
  readonly relayUrl: string;
  readonly providerUrl: string;
  readonly relay: DevRelay;
  readonly signIns: SignIns;
  /** Opens the link of a sign-in as a user would. */
  readonly openLink: (signIn: DevSignIn) => void;
  readonly say: (text: string) => void;
}

/** The longest duration that a request can set. */
const MAX_SECONDS = 600;

/** RFC 6749 §4.1.1. */
interface Authorization {
  readonly redirectUri: string;
  readonly challenge: string;
  readonly state: string;
}

interface Parts extends DevProviderOptions {
  readonly issuer: TokenIssuer;
}

export type DevProvider = ReturnType<typeof createDevProvider>;

export function createDevProvider(options: DevProviderOptions) {
  const issuer = createTokenIssuer(options.say);
  return {
    async handle(request: Request): Promise<Response> {
      const url = urlOf(request);
      if (url === undefined) return refuse('malformed_request');
      const response = await answerApp(request, url, issuer);
      if (response === undefined) return route(request, url, { ...options, issuer });
      for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
      return response;
    },
  };
}

/** Apps call these, web apps too (CORS): each needs a code or a token. */
async function answerApp(
  request: Request,
  { pathname }: URL,
  issuer: TokenIssuer,
): Promise<Response | undefined> {
  if (!['/token', '/revoke', '/userinfo'].includes(pathname)) return undefined;
  if (request.method === 'OPTIONS') return new Response(null, { status: 204 });
  if (pathname === '/token') return issuer.issue(request);
  return pathname === '/revoke' ? issuer.revoke(request) : issuer.userinfo(request);
}

async function route(request: Request, url: URL, parts: Parts): Promise<Response> {
  const { pathname } = url;
  const { relay, relayUrl, say } = parts;
  const refusal = findRefusal(request, url);
  if (refusal !== undefined) {
    say(`${request.method} ${pathname} got 403: ${refusal}`);
    return json({ error: refusal }, 403);
  }
  const isTry = isRead(request) && pathname.startsWith(TRY);
  const tried = isTry ? parseScenario(pathname.slice(TRY.length)) : undefined;
  if (tried !== undefined) return tryOut(tried, parts);
  switch (pathname) {
    case '/':
      return page(200, listPage({ ...parts, services: relay.services }));
    case '/authorize':
      return authorize(request, url, parts);
    case '/next':
      return planNext(request, parts);
    case '/open':
      return openLatest(request, parts);
    case '/scenarios':
      return json(SCENARIO_NAMES.map((scenario) => ({ scenario, ...describeScenario(scenario) })));
    case '/tv':
      return showTv(url, relayUrl);
    // The page names it by this path, to work from a file too.
    case '/client/dist/tv.js':
      return sendTvClient(say);
    default:
      return page(404, messagePage('Not found', 'There is no such page.'));
  }
}

async function authorize(request: Request, url: URL, parts: Parts): Promise<Response> {
  const { signIns } = parts;
  const asked = readAuthorization(url.searchParams, parts);
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
  return end(asked, chosen, form?.get('name') || 'Ada', parts);
}

/** Undefined for a request that does not come from the dev relay. */
function readAuthorization(
  query: URLSearchParams,
  { relay, relayUrl }: Parts,
): Authorization | undefined {
  const redirectUri = query.get('redirect_uri') ?? '';
  const isKnown = relay.services.some(
    (name) => redirectUri === `${relayUrl}/auth/${name}/callback`,
  );
  const challenge = query.get('code_challenge') ?? '';
  const isSound = query.get('client_id') === CLIENT_ID && query.get('response_type') === 'code';
  const isS256 = query.get('code_challenge_method') === 'S256' && challenge !== '';
  if (!isKnown || !isSound || !isS256) return undefined;
  return { redirectUri, challenge, state: query.get('state') ?? '' };
}

async function end(
  asked: Authorization,
  plan: Plan,
  user: string,
  { relay, signIns, issuer }: Parts,
): Promise<Response> {
  const { challenge, redirectUri, state } = asked;
  const back = (result: Record<string, string>) =>
    redirect(`${redirectUri}?${new URLSearchParams({ ...result, state })}`);
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
      const signIn = signIns.find(state);
      // If it was planned before the start, the session has this lifetime already.
      if (signIn !== undefined) systemClock.setTimer(plan.seconds * 1_000, signIn.expire);
      const text = `This sign-in expires within ${plan.seconds} s, unfinished.`;
      return page(200, messagePage('It expires', text));
    }
    case 'slow':
      await pause(plan.seconds * 500);
      break;
    case 'restart':
    case 'forgotten':
      await relay.restart(plan.seconds, plan.scenario === 'restart');
  }
  return back({ code: issuer.createCode({ user, plan, challenge, redirectUri }) });
}

/** Called by a test or from the page. */
async function planNext(request: Request, { signIns, say }: Parts): Promise<Response> {
  if (request.method === 'DELETE') signIns.planned.length = 0;
  if (request.method !== 'POST') return json({ planned: signIns.planned });
  const { scenario: named, seconds, auto } = readAsked(await readText(request));
  const scenario = parseScenario(named);
  if (scenario === undefined) {
    const error = named === undefined ? NO_SCENARIO : 'unknown scenario';
    return json({ error, scenarios: SCENARIO_NAMES }, 400);
  }
  const isDuration =
    seconds === undefined || (typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS);
  if (!isDuration || (auto !== undefined && typeof auto !== 'boolean')) {
    const error = `seconds is a number up to ${MAX_SECONDS}, auto is true or false`;
    return json({ error }, 400);
  }
  signIns.planned.push(planFor(scenario, seconds as number | undefined, auto === true));
  say(`the next sign-in is planned to end as "${scenario}"`);
  const isBrowser = request.headers.get('accept')?.includes('text/html');
  return isBrowser ? redirect('/') : json({ planned: signIns.planned });
}

/** The user of the latest sign-in that waits for one: it ends as planned, or with tokens. */
function openLatest(request: Request, { openLink, signIns }: Parts): Response {
  const signIn = request.method === 'POST' ? signIns.findWaiting() : undefined;
  if (signIn === undefined) return json({ error: 'no sign-in waits for its user' }, 409);
  signIn.plan ??= planFor('approve');
  openLink(signIn);
  return json({ number: signIn.number, service: signIn.service, device: signIn.deviceName });
}

/** Starts a sign-in as a device would, and redirects the browser to its link. */
async function tryOut(
  scenario: ScenarioName,
  { relay, relayUrl, signIns }: Parts,
): Promise<Response> {
  const [service = ''] = relay.services;
  signIns.planned.unshift(planFor(scenario));
  // Users see the name of the device, in their own language.
  const body = JSON.stringify({ service, code: true, ack: true, device: `/try/${scenario}` });
  const start = new Request(`${relayUrl}/auth/start`, { method: 'POST', body });
  const started = await relay.handle(start, LOCAL_PEERS);
  if (started.status !== 200) {
    const text = `The device got ${started.status} ${(await started.text()).trim()}.`;
    return page(200, messagePage('The start was refused', text));
  }
  return redirect(((await started.json()) as { url: string }).url);
}

/** The page reads the relay's base URL from its own query. */
function showTv({ searchParams }: URL, relayUrl: string): Response {
  if (!searchParams.has('relay')) {
    return redirect(`/tv?${new URLSearchParams({ relay: relayUrl })}`);
  }
  const text = readTvPage();
  if (text !== undefined) return page(200, text);
  const problem = 'This image was built from source. The one of a release has a television.';
  return page(404, messagePage('No television', problem));
}

async function sendTvClient(say: DevProviderOptions['say']): Promise<Response> {
  try {
    const type = { 'Content-Type': 'text/javascript; charset=utf-8' };
    return respond(await readTvClient(), 200, type);
  } catch {
    say('the client for televisions could not be built. Run npm ci, then start again');
    return respond(null, 503);
  }
}

/** A page of another site must not choose how sign-ins end, nor read what happened. */
function findRefusal(request: Request, url: URL): string | undefined {
  if (!hasOwnHost(url)) {
    return `${url.host} is not a name of this machine: use its IP address, or localhost`;
  }
  if (isRead(request) && url.pathname.startsWith(TRY)) {
    return isOwnLink(request, url) ? undefined : 'follow this link on the list of endings';
  }
  if (isRead(request) || !isCrossOrigin(request, url)) return undefined;
  return 'only programs and pages of this origin may do this';
}

/** Decided by the button that was pressed, or else by the user name. */
function planOf(form: URLSearchParams): Plan {
  const scenario = parseScenario(form.get('ending')) ?? parseScenario(form.get('name'));
  return planFor(scenario ?? 'approve');
}

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization',
};

const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';

/** Followed by a scenario. */
const TRY = '/try/';

type Asked = { readonly [Name in 'scenario' | 'seconds' | 'auto']?: unknown };

/** JSON, or else a form, whatever the content type: that of `curl -d` is always a form. */
function readAsked(text: string): Asked {
  const whole = readValue(text);
  if (typeof whole === 'object') return Object(whole) as Asked;
  const form = [...new URLSearchParams(text)];
  return Object.fromEntries(form.map(([name, value]) => [name, readValue(value)]));
}

/** The value of the JSON, or else the text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const NO_SCENARIO = 'name a scenario: {"scenario":"deny"}';
