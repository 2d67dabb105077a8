/**
 * The dev provider: an authorization server (RFC 6749, PKCE with S256) that accepts every
 * user name and ends each sign-in as requested, on its page or, in the tests of an app, by
 * `/next`. For development only: anyone can make its tokens.
 */
import { randomBytes } from 'node:crypto';
import { hostname as machineName } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, Hono, type Next } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { cannotBeRegistered, isSameOrigin } from '../../http/request.ts';
import { OPEN_SERVICE, openRedirectUri } from '../../providers/open.ts';
import { redirectUriOf } from '../../providers/provider.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { ENDING_NAMES, findEnding, type Plan, planFor } from './endings.ts';
import { createMcpServer } from './mcp.ts';
import { say } from './output.ts';
import { authorizePage, listPage, messagePage } from './pages.tsx';
import type { DevRelay } from './relay.ts';
import type { DevSignIn } from './sign-ins.ts';
import { TokenIssuer } from './tokens.ts';
import { readTvClient, readTvPage } from './tv.ts';

/** The longest duration that a request can set. */
const MAX_SECONDS = 600;

/** The longest form or token request. */
const MAX_BODY_BYTES = 16_384;

const HEADERS = {
  'Cache-Control': 'no-store',
  // With `no-referrer` a browser would hide the Origin of a form, by which another site's form is recognized.
  'Referrer-Policy': 'same-origin',
  // Against clickjacking.
  'Content-Security-Policy': "frame-ancestors 'none'",
};

export function createDevProvider(relay: DevRelay): (request: Request) => Promise<Response> {
  const { signIns, baseUrl, providerUrl } = relay;
  const issuer = new TokenIssuer(signIns);
  const readUser = (c: Context) => issuer.findUser(c.req.header('authorization'));

  async function authorize(c: Context): Promise<Response> {
    const signIn = signIns.find(c.req.query('state'));
    if (signIn === undefined) {
      const text = 'To get here, open the link of a sign-in at the dev relay.';
      return c.html(messagePage('No sign-in', text), 400);
    }
    const form = c.req.method === 'POST' ? new URLSearchParams(await c.req.text()) : undefined;
    if (form !== undefined) {
      signIn.plan = planFor(findEnding(form.get('ending')) ?? 'approve');
      signIn.note(`chosen: ${signIn.plan.ending}`);
    } else if (signIn.plan === undefined || signIn.plan.ending === 'deny-at-relay') {
      // A user who gets here with "deny-at-relay" has not declined: ask how it should end.
      return c.html(authorizePage(signIn.deviceName));
    }
    return end(c, signIn, form?.get('name') || 'Ada');
  }

  async function end(c: Context, signIn: DevSignIn, user: string): Promise<Response> {
    const { ending, seconds } = signIn.plan ?? planFor('approve');
    const { service, ids } = signIn.session;
    const redirectUri =
      service === OPEN_SERVICE ? openRedirectUri(baseUrl) : redirectUriOf(service, baseUrl);
    const back = (result: Record<string, string>) => {
      // RFC 9207 §2.
      const query = new URLSearchParams({ ...result, state: ids.link, iss: providerUrl });
      return c.redirect(`${redirectUri}?${query}`, 303);
    };
    switch (ending) {
      case 'deny':
      case 'deny-at-relay':
        return back({ error: 'access_denied' });
      case 'provider-error':
        return back({ error: 'server_error' });
      case 'no-code':
        return back({});
      case 'never':
        return c.html(messagePage('Nothing happens', 'This sign-in never finishes.'));
      case 'expires': {
        // If it was planned before the start, the session has this lifetime already.
        systemClock.setTimer(seconds * 1_000, () => signIn.expire());
        const text = `This sign-in expires within ${seconds} s, unfinished.`;
        return c.html(messagePage('It expires', text));
      }
      case 'slow':
        await pause(seconds * 500);
        break;
      case 'restart':
      case 'forgotten':
        await relay.restart(seconds, ending === 'restart');
    }
    // A second tap gets the same code.
    const code = signIn.grant?.code ?? `dev-code-${randomBytes(18).toString('base64url')}`;
    signIn.grant = { code, user, redirectUri, challenge: c.req.query('code_challenge') ?? '' };
    return back({ code });
  }

  /** Called by a test or from the page. */
  async function planNext(c: Context): Promise<Response> {
    const plan = readPlan(readMembers(await c.req.text()));
    if ('error' in plan) return c.json(plan, 400);
    signIns.planned.push(plan);
    say(`the next sign-in is planned to end as "${plan.ending}"`);
    const isBrowser = c.req.header('accept')?.includes('text/html');
    return isBrowser ? c.redirect('/', 303) : c.json({ planned: signIns.planned });
  }

  /** Acts as the user of this link, or of the latest that waits. The sign-in ends as the request says, or as planned, or with tokens. */
  async function openLink(c: Context): Promise<Response> {
    const members = readMembers(await c.req.text());
    const { link, ending } = members;
    const asked = ending === undefined ? undefined : readPlan(members);
    if (asked !== undefined && 'error' in asked) return c.json(asked, 400);
    const signIn = signIns.findWaiting(link);
    if (signIn === undefined) {
      const error = `no sign-in waits for its user${link === undefined ? '' : ' with this link'}`;
      return c.json({ error }, 409);
    }
    signIn.plan = asked ?? signIn.plan ?? planFor('approve');
    void relay.openLink(signIn);
    const { number, session, deviceName } = signIn;
    return c.json({ number, service: session.service, device: deviceName });
  }

  const app = new Hono()
    // The runtime reports it.
    .onError((error) => Promise.reject(error))
    .notFound((c) => c.html(messagePage('Not found', 'There is no such page.'), 404))
    .use(bodyLimit({ maxSize: MAX_BODY_BYTES }), async (c, next) => {
      await next();
      for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    })
    // CORS is safe here: each request needs a code or a token.
    .on('ALL', ['/token', '/revoke', '/userinfo'], cors())
    .post('/token', async ({ req }) => issuer.issue(new URLSearchParams(await req.text())))
    .post('/revoke', async ({ req }) => issuer.revoke(new URLSearchParams(await req.text())))
    .all('/userinfo', (c) => {
      const user = readUser(c);
      if (user !== undefined) return c.json({ sub: user, name: user });
      const headers = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
      return c.json({ error: 'invalid_token' }, 401, headers);
    })
    // For an app that mistakes the provider for the relay.
    .on('ALL', ['/services', '/auth/start'], cors(), (c) =>
      c.text(`The relay is at ${baseUrl}`, 404),
    )
    .use(rejectCrossSite)
    .get('/', (c) => c.html(listPage(relay)))
    .on(['GET', 'POST'], '/authorize', authorize)
    .get('/next', (c) => c.json({ planned: signIns.planned }))
    .post('/next', planNext)
    .delete('/next', (c) => {
      signIns.reset();
      return c.json({ planned: [] });
    })
    .post('/open', openLink)
    .get('/tv', (c) => showTv(c, baseUrl))
    // The page loads it by this path, so that it also works as a file.
    .get('/client/dist/tv.js', sendTvClient);
  if (relay.options.open) {
    app.route('/', createMcpServer(providerUrl, openRedirectUri(baseUrl), readUser));
  }
  return async (request) => app.fetch(request);
}

/**
 * Accepts requests of programs and of our own pages. A page of another site in a browser on this
 * machine reaches `127.0.0.1` too. It must not choose how sign-ins end, or read what happened.
 */
async function rejectCrossSite(c: Context, next: Next): Promise<Response | undefined> {
  const { host, hostname, origin } = new URL(c.req.url);
  const { method, headers } = c.req.raw;
  const own = machineName().toLowerCase();
  const isHere = cannotBeRegistered(hostname) || [own, `${own}.local`].includes(hostname);
  const isRead = method === 'GET' || method === 'HEAD';
  const isOwn = headers.get('sec-fetch-site') === 'none' || isSameOrigin(headers, origin);
  if (isHere && (isRead || isOwn)) return void (await next());
  const error = isHere
    ? 'only programs and pages of this origin may do this'
    : `${host} is not a name of this machine: use its IP address, or localhost`;
  say(`${method} ${c.req.path} got 403: ${error}`);
  return c.json({ error }, 403);
}

/** The page reads the relay's base URL from its own query. */
function showTv(c: Context, relay: string): Response {
  if (c.req.query('relay') === undefined) {
    return c.redirect(`/tv?${new URLSearchParams({ relay })}`, 303);
  }
  const text = readTvPage();
  if (text !== undefined) return c.html(text);
  const problem = 'This image was built from source. The one of a release has a television.';
  return c.html(messagePage('No television', problem), 404);
}

async function sendTvClient(c: Context): Promise<Response> {
  try {
    c.header('Content-Type', 'text/javascript; charset=utf-8');
    return c.body(await readTvClient());
  } catch {
    say('the client for televisions could not be built. Run npm ci, then start again');
    return c.body(null, 503);
  }
}

/** What a request plans, or what is wrong with it. */
function readPlan(
  members: Readonly<Record<string, unknown>>,
): Plan | { readonly error: string; readonly endings?: unknown } {
  const { ending: named, seconds, auto = false, link: _, ...unknown } = members;
  const ending = findEnding(named);
  if (ending === undefined) {
    const error = named === undefined ? 'name an ending: {"ending":"deny"}' : 'unknown ending';
    return { error, endings: ENDING_NAMES };
  }
  const [other] = Object.keys(unknown);
  if (other !== undefined) return { error: `unknown member: ${other}` };
  const isDuration = typeof seconds === 'number' && seconds > 0 && seconds <= MAX_SECONDS;
  if ((seconds !== undefined && !isDuration) || typeof auto !== 'boolean') {
    return { error: `seconds is a number up to ${MAX_SECONDS}, auto is true or false` };
  }
  return planFor(ending, seconds as number | undefined, auto);
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
