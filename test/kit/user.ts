/** What a user's browser does, without a browser: opens links, types codes, decides, comes back from the provider. */
import { expect } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { pollUntilDone, type Started, start, type Target } from './device.ts';
import type { Child } from './process.ts';
import { type startTokenEndpoint, tokensFor } from './provider.ts';
import { plantSecret } from './secrets.ts';
import { pollUntil } from './wait.ts';

/** Sent with every form of the relay's own pages. */
export const FROM_OWN_PAGE = { 'Sec-Fetch-Site': 'same-origin' };

/** A browser with the cookies that the relay set in it. Their path is /. */
export function createUser(target: Target, peer?: string) {
  const cookies = new Map<string, string>();

  async function visit(address: string, init: RequestInit = {}): Promise<Response> {
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`);
    const headers = new Headers(init.headers);
    if (sent.length > 0) headers.set('Cookie', sent.join('; '));
    const response = await target.ask(address, { ...init, headers }, peer);
    for (const { name, value, attributes } of cookiesOf(response)) {
      if (attributes.includes('Max-Age=0')) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  return {
    open: visit,
    decide: (address: string, choice: string, headers: HeadersInit = FROM_OWN_PAGE) =>
      visit(address, decision(choice, headers)),
    /** Comes back from the provider. */
    comeBack: (state: string, query = 'code=c', service = 'mal') =>
      visit(`/auth/${service}/callback?state=${state}&${query}`),
  };
}

export function decision(choice: string, headers: HeadersInit = FROM_OWN_PAGE): RequestInit {
  return { method: 'POST', headers, body: new URLSearchParams({ choice }) };
}

/** Presses a button of the confirmation page, in a browser without cookies. */
export const decide = (target: Target, address: string, choice = 'continue', peer?: string) =>
  target.ask(address, decision(choice), peer);

/** The short link that a program shows, once it has written all of it. */
export const readLink = (program: Pick<Child, 'output'>): Promise<string> =>
  pollUntil('it shows its link', () => /http:\S+\/L\/\S+(?=\s)/.exec(program.output())?.[0]);

/** Comes back from the provider, in a browser without cookies. */
export const callback = (target: Target, state: string, query = 'code=c', service = 'mal') =>
  target.ask(`/auth/${service}/callback?state=${state}&${query}`);

export const deny = (target: Target, state: string) =>
  callback(target, state, 'error=access_denied');

/** A code as a provider would give it, which the log search finds. */
export const makeCode = () => plantSecret(`code-${randomUUID()}`);

export const bringCode = (target: Target, state: string, code: string) =>
  callback(target, state, `code=${code}`);

/** A device that waits for its user, at a relay whose provider is that of startTokenEndpoint. */
export async function startWaiting(target: Target) {
  const { session, state } = await start(target);
  const result = pollUntilDone([target], session);
  // A rejection counts when it is awaited.
  result.catch(() => undefined);
  return {
    state,
    async expectSignsIn() {
      const code = makeCode();
      expect((await bringCode(target, state, code)).status).toBe(200);
      expect(await result).toMatchObject(tokensFor(code));
    },
  };
}

/** A device whose user is back with a code, which the provider holds until `release`. `page`: the status, or that the connection was cut. */
export async function startExchanging(
  target: Target,
  { gate }: Pick<ReturnType<typeof startTokenEndpoint>, 'gate'>,
  init?: RequestInit,
) {
  const { session, state } = await start(target);
  const code = makeCode();
  const held = gate.close();
  const page = target.ask(`/auth/mal/callback?state=${state}&code=${code}`, init).then(
    ({ status }) => status,
    () => 'cut' as const,
  );
  await held.arrived;
  return { session, state, code, page, release: held.release };
}

/** Continues at the confirmation page of a code, and returns the state of the redirect to the provider. */
export async function continueWithCode(target: Target, link: string): Promise<string> {
  const response = await decide(target, link);
  if (response.status !== 303) throw new Error(`continue: ${response.status}`);
  return plantSecret(stateOf(response));
}

/** The `state` that a redirect to the provider carries. */
export function stateOf({ headers }: Response): string {
  return new URL(headers.get('location') ?? '').searchParams.get('state') ?? '';
}

export function cookiesOf({ headers }: Response) {
  return headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    return { name, value, attributes: attributes.toSorted() };
  });
}

/** The text of a page, without its head and its tags. */
export async function textOf(response: Response): Promise<string> {
  return sentencesOf(await response.text());
}

export function sentencesOf(page: string): string {
  // Elements within a sentence keep its words whole.
  const sentences = page
    .replace(/<head>.*<\/head>/s, '')
    .replaceAll(/<\/?(?:bdi|span|wbr)\b[^>]*>/g, '');
  return sentences.replaceAll(/<[^>]+>/g, ' ');
}

/** A browser that follows the redirects. `visit` returns the last page. */
export function createVisitor() {
  // One jar for relay and provider, whose cookies have different names.
  const user = createUser({
    ask: (address, init) =>
      fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(20_000), ...init }),
  });
  return async function visit(url: URL, init?: RequestInit) {
    let [page, response] = [url, await user.open(url.href, init)];
    for (let to = response.headers.get('Location'); to; to = response.headers.get('Location')) {
      page = new URL(to, page);
      response = await user.open(page.href);
    }
    const html = await response.text();
    const title = /<title>([^<]*)/.exec(html)?.[1] ?? 'no title';
    return { url: page, status: response.status, title, text: sentencesOf(html) };
  };
}

export type Choice = 'agree' | 'decline' | 'decline at the provider';

/** A user without a browser: opens the link, decides if a short link asks, and fills in the form of openid.ts. Returns the last page. */
export async function answerLink(name: string, link: string, choice: Choice = 'agree') {
  const visit = createVisitor();
  let { url } = await visit(new URL(link));
  if (url.pathname.startsWith('/L/')) {
    const decided = await visit(url, decision(choice === 'decline' ? 'decline' : 'continue'));
    if (choice === 'decline') return decided;
    url = decided.url;
  }
  return visit(url, providerForm(name, choice === 'agree' ? 'allow' : 'deny'));
}

const providerForm = (name: string, answer: 'allow' | 'deny'): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams({ name, password: 'any', answer }),
});

/** Between two tries; a user or a device is not faster. */
const PAUSE_MS = 50;

/** Starts a sign-in at a relay that may answer 503 for a while. */
export async function startWhenPossible(target: Target): Promise<Started> {
  for (;;) {
    try {
      return await start(target);
    } catch (error) {
      if (!String(error).includes('start: 503')) throw error;
      await Bun.sleep(PAUSE_MS);
    }
  }
}

/** Reloads the callback page while it is a 503. Returns the status. */
export async function bringCodeWhenPossible(
  target: Target,
  state: string,
  code: string,
): Promise<number> {
  for (;;) {
    const { status, body } = await bringCode(target, state, code);
    await body?.cancel();
    if (status !== 503) return status;
    await Bun.sleep(PAUSE_MS);
  }
}
