/**
 * The dev provider: an authorization server (RFC 6749, PKCE with S256) that accepts every
 * user name and ends each sign-in as requested, on its page or, in the tests of an app, by
 * `/next`. For development only: anyone can make its tokens.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { refuse } from '../../http/responses.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { findRefusal, json, page, readForm, readText, redirect, respond, urlOf } from './http.ts';
import { authorizePage, listPage, messagePage } from './pages.tsx';
import { CLIENT_ID, type DevRelay } from './relay.ts';
import { type Plan, parseScenario, planFor, SCENARIO_NAMES, SCENARIOS } from './scenarios.ts';
import type { DevSignIn } from './sign-ins.ts';
import { TokenIssuer } from './tokens.ts';
import { readTvClient, readTvPage } from './tv.ts';

/** The longest duration that a request can set. */
const MAX_SECONDS = 600;

/** Followed by a scenario. */
const TRY = '/try/';

/** Apps call these, web apps too: each needs a code or a token. */
const APP_PATHS = ['/token', '/revoke', '/userinfo'];

const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Content-Type, Authorization',
};

export class DevProvider {
  readonly #issuer: TokenIssuer;

  constructor(
    private readonly relay: DevRelay,
    private readonly say: (text: string) => void,
  ) {
    this.#issuer = new TokenIssuer(say);
  }

  async handle(request: Request): Promise<Response> {
    const url = urlOf(request);
    if (url === undefined) return refuse('malformed_request');
    if (!APP_PATHS.includes(url.pathname)) return this.#route(request, url);
    const isPreflight = request.method === 'OPTIONS';
    const response = isPreflight
      ? new Response(null, { status: 204 })
      : await this.#issuer.handle(request, url.pathname);
    for (const [name, value] of Object.entries(CORS)) response.headers.set(name, value);
    return response;
  }

  async #route(request: Request, url: URL): Promise<Response> {
    const { pathname } = url;
    const isTry = pathname.startsWith(TRY);
    const refusal = findRefusal(request, url, isTry);
    if (refusal !== undefined) {
      this.say(`${request.method} ${pathname} got 403: ${refusal}`);
      return json({ error: refusal }, 403);
    }
    const tried = isTry ? parseScenario(pathname.slice(TRY.length)) : undefined;
    if (tried !== undefined) return this.#tryOut(planFor(tried));
    switch (pathname) {
      case '/':
        return page(200, listPage(this.relay));
      case '/authorize':
        return this.#authorize(request, url);
      case '/next':
        return this.#planNext(request);
      case '/open':
        return this.#openLatest(request);
      case '/scenarios':
        return json(SCENARIO_NAMES.map((scenario) => ({ scenario, ...SCENARIOS[scenario] })));
      case '/tv':
        return showTv(url, this.relay.options.baseUrl);
      // The page names it by this path, to work from a file too.
      case '/client/dist/tv.js':
        return this.#sendTvClient();
      default:
        return page(404, messagePage('Not found', 'There is no such page.'));
    }
  }

  async #authorize(request: Request, { searchParams: asked }: URL): Promise<Response> {
    if (!this.#isFromRelay(asked)) {
      const text = 'To get here, open the link of a sign-in at the dev relay.';
      return page(400, messagePage('No sign-in', text));
    }
    const signIn = this.relay.signIns.find(asked.get('state') ?? '');
    const form = request.method === 'POST' ? await readForm(request) : undefined;
    const plan = form === undefined ? signIn?.plan : planOf(form);
    // A user who gets here with "deny-at-relay" has not declined: ask how it should end.
    if (plan === undefined || (form === undefined && plan.scenario === 'deny-at-relay')) {
      return page(200, authorizePage(signIn?.deviceName));
    }
    if (signIn !== undefined) signIn.plan = plan;
    if (form !== undefined) signIn?.note(plan.scenario, `chosen: ${plan.scenario}`);
    return this.#end(asked, plan, form?.get('name') || 'Ada', signIn);
  }

  /** RFC 6749 §4.1.1, RFC 7636 §4.3. */
  #isFromRelay(asked: URLSearchParams): boolean {
    const { baseUrl, services } = this.relay.options;
    const redirectUris = services.map((name) => `${baseUrl}/auth/${name}/callback`);
    return (
      redirectUris.includes(asked.get('redirect_uri') ?? '') &&
      asked.get('client_id') === CLIENT_ID &&
      asked.get('response_type') === 'code' &&
      asked.get('code_challenge_method') === 'S256' &&
      asked.get('code_challenge') !== null
    );
  }

  async #end(
    asked: URLSearchParams,
    plan: Plan,
    user: string,
    signIn: DevSignIn | undefined,
  ): Promise<Response> {
    const back = (result: Record<string, string>) => {
      const query = new URLSearchParams({ ...result, state: asked.get('state') ?? '' });
      return redirect(`${asked.get('redirect_uri')}?${query}`);
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
        // If it was planned before the start, the session has this lifetime already.
        systemClock.setTimer(plan.seconds * 1_000, () => signIn?.expire());
        const text = `This sign-in expires within ${plan.seconds} s, unfinished.`;
        return page(200, messagePage('It expires', text));
      }
      case 'slow':
        await pause(plan.seconds * 500);
        break;
      case 'restart':
      case 'forgotten':
        await this.relay.restart(plan.seconds, plan.scenario === 'restart');
    }
    return back({ code: this.#issuer.createCode({ user, plan, asked }) });
  }

  /** Called by a test or from the page. */
  async #planNext(request: Request): Promise<Response> {
    const { signIns } = this.relay;
    if (request.method === 'DELETE') signIns.planned.length = 0;
    if (request.method !== 'POST') return json({ planned: signIns.planned });
    const plan = readPlan(await readText(request));
    if ('error' in plan) return json(plan, 400);
    signIns.planned.push(plan);
    this.say(`the next sign-in is planned to end as "${plan.scenario}"`);
    const isBrowser = request.headers.get('accept')?.includes('text/html');
    return isBrowser ? redirect('/') : json({ planned: signIns.planned });
  }

  /** The user of the latest sign-in that waits for one: it ends as planned, or with tokens. */
  #openLatest({ method }: Request): Response {
    const signIn = method === 'POST' ? this.relay.signIns.findWaiting() : undefined;
    if (signIn === undefined) return json({ error: 'no sign-in waits for its user' }, 409);
    signIn.plan ??= planFor('approve');
    void this.relay.openLink(signIn);
    const { number, session, deviceName } = signIn;
    return json({ number, service: session.service, device: deviceName });
  }

  /** Starts a sign-in as a device would, and redirects the browser to its link. */
  async #tryOut(plan: Plan): Promise<Response> {
    const { baseUrl, services } = this.relay.options;
    this.relay.signIns.planned.unshift(plan);
    // Users see the name of the device, in their own language.
    const device = TRY + plan.scenario;
    const body = JSON.stringify({ service: services[0], code: true, ack: true, device });
    const start = new Request(`${baseUrl}/auth/start`, { method: 'POST', body });
    const started = await this.relay.handle(start);
    if (started.ok) return redirect(((await started.json()) as { url: string }).url);
    const text = `The device got ${started.status} ${(await started.text()).trim()}.`;
    return page(200, messagePage('The start was refused', text));
  }

  async #sendTvClient(): Promise<Response> {
    try {
      const type = { 'Content-Type': 'text/javascript; charset=utf-8' };
      return respond(await readTvClient(), 200, type);
    } catch {
      this.say('the client for televisions could not be built. Run npm ci, then start again');
      return respond(null, 503);
    }
  }
}

/** The page reads the relay's base URL from its own query. */
function showTv({ searchParams }: URL, relay: string): Response {
  if (!searchParams.has('relay')) return redirect(`/tv?${new URLSearchParams({ relay })}`);
  const text = readTvPage();
  if (text !== undefined) return page(200, text);
  const problem = 'This image was built from source. The one of a release has a television.';
  return page(404, messagePage('No television', problem));
}

/** Decided by the button that was pressed, or else by the user name. */
function planOf(form: URLSearchParams): Plan {
  const scenario = parseScenario(form.get('ending')) ?? parseScenario(form.get('name'));
  return planFor(scenario ?? 'approve');
}

/** What a request plans, or what is wrong with it. */
function readPlan(text: string): Plan | { readonly error: string; readonly scenarios?: unknown } {
  const { scenario: named, seconds, auto = false } = readMembers(text);
  const scenario = parseScenario(named);
  if (scenario === undefined) {
    const error = named === undefined ? 'name a scenario: {"scenario":"deny"}' : 'unknown scenario';
    return { error, scenarios: SCENARIO_NAMES };
  }
  const isDuration = typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS;
  if ((seconds !== undefined && !isDuration) || typeof auto !== 'boolean') {
    return { error: `seconds is a number up to ${MAX_SECONDS}, auto is true or false` };
  }
  return planFor(scenario, seconds as number | undefined, auto);
}

/** JSON, or else a form, whatever the content type: that of `curl -d` is always a form. */
function readMembers(text: string): Readonly<Record<string, unknown>> {
  const whole = readValue(text);
  if (typeof whole === 'object') return Object(whole);
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
