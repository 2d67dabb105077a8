/** A real browser: Debian's Chromium at the pages of a real relay and of real providers. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page, type Response } from 'playwright-core';
import type { Branding } from '../../src/pages/pages.ts';
import { endWithFile } from './cleanup.ts';
import { pollUntilDone, type Started, start, startWithCode } from './device.ts';
import { CHROMIUM } from './needs.ts';
import { startOpenId } from './openid.ts';
import { findFreePort } from './process.ts';
import { type RelayProcess, startRelay } from './relay.ts';
import { plantSecret } from './secrets.ts';

/** Quiet, and without network traffic of its own. */
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function launchChromium(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  endWithFile(() => browser.close());
  return browser;
}

/**
 * Shows a page without a relay, in place of the one before: its logo is within it, and it does not
 * come back by itself. A navigation would take most of the time of the tests that show every page.
 */
export async function showPage(page: Page, html: string, { logo }: Branding): Promise<void> {
  const uri = logo && `data:${logo.mediaType};base64,${logo.base64}`;
  const still = html.replace(/<meta http-equiv="refresh"[^>]*>/, '');
  await page.evaluate(
    async (text) => {
      if (document.compatMode === 'BackCompat') {
        document.open();
        document.write('<!doctype html>');
        document.close();
      }
      const { documentElement } = new DOMParser().parseFromString(text, 'text/html');
      document.replaceChild(documentElement, document.documentElement);
      await Promise.all([...document.images].map((image) => image.decode()));
    },
    still.replace('src="/logo"', `src="${uri}"`),
  );
}

/** OpenID found by its issuer, with a client secret; and OAuth without ID tokens, with a public client. */
export const SERVICES = ['demo', 'mal'] as const;
export type Service = (typeof SERVICES)[number];

/** Who signs in. */
export const USER = 'Ada';

/**
 * `env` overrides settings; `publicUrl` is where browsers reach the relay, if that
 * is not where it listens.
 */
export async function startServers(env: Readonly<Record<string, string>> = {}, publicUrl?: string) {
  const port = await findFreePort();
  const baseUrl = publicUrl ?? `http://127.0.0.1:${port}`;
  const redirectUri = (service: Service) => `${baseUrl}/auth/${service}/callback`;
  const clientSecret = plantSecret('a-client-secret-of-the-browser-tests');
  const demo = await startOpenId(redirectUri('demo'), clientSecret);
  const mal = await startOpenId(redirectUri('mal'));
  const relay = await startRelay(
    {
      OAUTH_BASE_URL: baseUrl,
      PROVIDERS: SERVICES.join(','),
      // Every sign-in here comes from one address.
      START_BURST: '1000',
      // A test that uses up the limit of an address does so as another address.
      TRUSTED_PROXY_CIDRS: '127.0.0.1',
      DEMO_ISSUER: demo.issuer,
      DEMO_CLIENT_ID: demo.clientId,
      DEMO_CLIENT_SECRET: clientSecret,
      DEMO_SCOPE: 'openid profile',
      MAL_CLIENT_ID: mal.clientId,
      MAL_AUTHORIZE_URL: mal.authorizeUrl,
      MAL_TOKEN_URL: mal.tokenUrl,
      MAL_PKCE: 'S256',
      MAL_SCOPE: 'profile',
      ...env,
    },
    { port },
  );
  return { relay, providers: { demo, mal } };
}

/** Everything that a sign-in needs, each part real. */
export async function setUp(...options: Parameters<typeof startServers>) {
  const browser = await launchChromium();
  const { relay, providers } = await startServers(...options);
  return {
    relay,
    providers,
    browser,
    openPhone: (options?: PhoneOptions) => openPhone(browser, options),
    startDevice: async (service: Service) => createDevice(relay, await start(relay, service)),
    startDeviceWithCode: async (service: Service, device?: string) =>
      createDevice(relay, await startWithCode(relay, { device }, service)),
  };
}

/** What a device gets in the end. */
interface Result {
  readonly accessToken?: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
  readonly error?: string;
}

export type Device = ReturnType<typeof createDevice>;

const createDevice = (relay: RelayProcess, started: Started) => ({
  ...started,
  /** The short link as a whole. */
  shortUrl: String(started.answer.link),
  poll: () => pollUntilDone([relay], started.session) as Promise<Result>,
});

type PhoneOptions = Parameters<Browser['newContext']>[0];

/** Has no motion, for which a click would wait. */
const SCREEN = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  reducedMotion: 'reduce',
} as const;

/** A browser of its own, with its own cookies. `complaints` has its errors and warnings, such as violations of a page's policy. */
async function openPhone(browser: Browser, options: PhoneOptions = {}) {
  const context = await browser.newContext({ ...SCREEN, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}

type RelayPage = Awaited<ReturnType<typeof readPage>>;

export const SIGNED_IN = { status: 200, title: 'Signed in' };

/** Does what brings the user back from the provider, and reads the page that follows. */
export async function comeBack(page: Page, act: () => Promise<unknown>): Promise<RelayPage> {
  const isCallback = (url: URL) => url.pathname.endsWith('/callback');
  const answered = page.waitForResponse((response) => isCallback(new URL(response.url())));
  const [response] = await Promise.all([answered, act()]);
  await page.waitForURL(isCallback);
  return readPage(page, response);
}

/** Does what leads to another page, and reads that page. */
export async function follow(page: Page, act: () => Promise<unknown>): Promise<RelayPage> {
  const isAnswer = (response: Response) =>
    response.request().isNavigationRequest() && ![302, 303].includes(response.status());
  const [response] = await Promise.all([
    page.waitForResponse(isAnswer),
    // Until then what is loaded is the page before.
    page.waitForEvent('framenavigated', (frame) => frame === page.mainFrame()),
    act(),
  ]);
  await page.waitForLoadState();
  return readPage(page, response);
}

export async function open(page: Page, address: string): Promise<RelayPage> {
  return readPage(page, await page.goto(address));
}

/** A page of the relay as a user reads it. */
async function readPage(page: Page, response: Response | null) {
  return {
    status: response?.status() ?? 0,
    title: await page.title(),
    heading: (await page.getByRole('heading', { level: 1 }).textContent()) ?? '',
    message: (await page.locator('p, small').first().innerText()).trim(),
  };
}

/** Does not wait for where the button leads. */
export function press(page: Page, name: string): Promise<void> {
  return page.getByRole('button', { name, exact: true }).click({ noWaitAfter: true });
}

/** Does what leads from the relay to the provider. */
export async function leave(page: Page, act: () => Promise<unknown>): Promise<void> {
  const { origin } = new URL(page.url());
  await Promise.all([page.waitForURL((url) => url.origin !== origin), act()]);
}

/** Presses Continue on the confirmation page. */
export const pressContinue = (page: Page) => leave(page, () => press(page, 'Continue'));

export async function agree(page: Page): Promise<void> {
  await page.getByLabel('Name').fill(USER);
  await page.getByLabel('Password').fill('any');
  await press(page, 'Sign in');
}

export const declineAtProvider = (page: Page) => press(page, 'Cancel');

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/**
 * What axe-core finds wrong: the rules of WCAG 2.2 A and AA, and its best practices. With
 * `leastContrast` that of every text, large ones too, is checked against it.
 */
export async function findViolations(page: Page, leastContrast?: number): Promise<string[]> {
  if (!(await page.evaluate('Boolean(self.axe)'))) await page.evaluate(AXE);
  const least = { expected: leastContrast };
  const check = {
    id: 'color-contrast-enhanced',
    options: { contrastRatio: { normal: least, large: least } },
  };
  if (leastContrast) await page.evaluate(`axe.configure({ checks: [${JSON.stringify(check)}] })`);
  const options = {
    rules: { 'color-contrast-enhanced': { enabled: leastContrast !== undefined } },
  };
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`;
  const found = (await page.evaluate(run)) as { id: string; nodes: { html: string }[] }[];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
