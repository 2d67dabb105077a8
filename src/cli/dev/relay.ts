/**
 * The real relay, with sessions in memory and a few faults on request: it restarts, is
 * full, or breaks a connection. Everything else is the relay's own code, so an app gets
 * what it would get in production.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Addresses, linkOf } from '../../http/request.ts';
import { START_PATH } from '../../http/routes.ts';
import { MAX_IDLE_SECONDS } from '../../limits.ts';
import { type ProviderConfig, prefixOf } from '../../providers/config.ts';
import { OPEN_SERVICE } from '../../providers/open.ts';
import type { Listener, Runtime } from '../../server/runtime.ts';
import { createService, type Service, type Stores } from '../../service.ts';
import {
  describeFaults,
  type EnabledSettings,
  readSettings,
  type Settings,
} from '../../settings/index.ts';
import { digestOf } from '../../sign-ins/secrets.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { startBackgroundTasks } from '../../start-service.ts';
import {
  createMemoryRateLimiter,
  createMemoryRefreshStore,
  createMemoryStore,
  plainVault,
} from '../../stores/memory.ts';
import { readTextFile } from '../../text-file.ts';
import { CommandError } from '../command-line.ts';
import type { Plan } from './endings.ts';
import { describeRequest, remedyFor, say } from './output.ts';
import { type DevRequest, type DevSignIn, DevSignIns } from './sign-ins.ts';

/** The dev relay's client id at the dev provider. */
export const CLIENT_ID = 'sign-in-relay-dev';

/** How long responses in progress get to finish before the relay closes. */
const CLOSE_MS = 300;

/** The link is opened after this delay, because the device must get its response first. */
const AUTO_DELAY_MS = 200;

export interface DevRelayOptions {
  /** The address to listen on. */
  readonly hostname: string;
  /** The host in links. */
  readonly host: string;
  /** The provider uses the next port. */
  readonly port: number;
  readonly services: readonly string[];
  /** True if there are open sign-ins, only at the dev provider, and an MCP server. */
  readonly open: boolean;
  /** The relay's BLIND. */
  readonly blind: 'never' | 'allow' | 'always';
  readonly runtime: Runtime;
  /** Sends a request to the provider in this process. */
  readonly askProvider: (request: Request) => Promise<Response>;
}

export class DevRelay {
  readonly signIns = new DevSignIns();
  readonly baseUrl: string;
  readonly providerUrl: string;
  readonly #settings: EnabledSettings;
  #stores: Stores;
  #service: Service;
  #listener: Listener | undefined;
  #restarting: Promise<void> | undefined;

  /** Throws CommandError if a setting of the pages is wrong. */
  constructor(readonly options: DevRelayOptions) {
    const { host, port } = options;
    this.baseUrl = `http://${host}:${port}`;
    this.providerUrl = `http://${host}:${port + 1}`;
    this.#settings = createSettings(this.baseUrl, this.providerUrl, options);
    this.#stores = createStores(this.signIns, this.#settings.maxSessions);
    this.#service = this.#start();
  }

  async open(): Promise<void> {
    const { runtime, hostname, port } = this.options;
    const handle = (request: Request, addresses: Addresses) => this.handle(request, addresses);
    const on = { hostname, port, idleSeconds: MAX_IDLE_SECONDS, handle };
    this.#listener = await runtime.listen(on);
  }

  async close(): Promise<void> {
    const closing = this.#listener;
    this.#listener = undefined;
    await Promise.race([closing?.stop(), pause(CLOSE_MS)]);
    closing?.cut();
    this.#service.close();
  }

  /** The peer of a request that is made in this process is this machine. */
  async handle(
    request: Request,
    addresses: Addresses = { requestIP: () => ({ address: '127.0.0.1' }) },
  ): Promise<Response> {
    const url = new URL(request.url);
    const { signIns } = this;
    const plan = isStart(request, url) ? signIns.planned.shift() : undefined;
    const context: DevRequest = { plan };
    const response = await signIns.requests.run(context, () =>
      this.#serviceFor(url, plan).handle(request, addresses),
    );
    // A start that failed for another reason leaves its plan to the next one.
    const isUsed = context.isRefused || context.started !== undefined;
    if (plan !== undefined && !isUsed) signIns.planned.unshift(plan);
    if (response.status >= 400) await this.#reportRefusal(url, response);
    if (plan?.auto && context.started !== undefined) void this.openLink(context.started);
    return context.isCut ? breakOff(response) : response;
  }

  /** Acts as the user of the link, in this process, so it needs no network. */
  async openLink(signIn: DevSignIn): Promise<void> {
    await pause(AUTO_DELAY_MS);
    const { baseUrl } = this;
    const { service, ids } = signIn.session;
    const link = linkOf(baseUrl, service, ids.link);
    const isDeclined = signIn.plan?.ending === 'deny-at-relay';
    // The form of the confirmation page sends this header.
    const headers = { 'Sec-Fetch-Site': 'same-origin' };
    const body = new URLSearchParams({ choice: isDeclined ? 'decline' : 'continue' });
    const init = isDeclined || service === OPEN_SERVICE ? { method: 'POST', headers, body } : {};
    try {
      const continued = await this.handle(new Request(link, init));
      const authorizeUrl = continued.headers.get('location');
      if (authorizeUrl === null) return;
      const atProvider = await this.options.askProvider(new Request(authorizeUrl));
      const callbackUrl = atProvider.headers.get('location');
      // The cookie identifies the browser in which the user continued.
      const cookies = continued.headers.getSetCookie().map((cookie) => cookie.split(';', 1));
      const back = { headers: { Cookie: cookies.join('; ') } };
      if (callbackUrl !== null) await this.handle(new Request(callbackUrl, back));
    } catch (error) {
      signIn.note(`its link could not be opened: ${error}`);
    }
  }

  /** Restarts as production does: it drains, is down, and listens again. Concurrent callers share one restart. */
  restart(seconds: number, keepsSignIns: boolean): Promise<void> {
    this.#restarting ??= this.#restart(seconds, keepsSignIns).finally(() => {
      this.#restarting = undefined;
    });
    return this.#restarting;
  }

  async #restart(seconds: number, keepsSignIns: boolean): Promise<void> {
    say(`the relay restarts: it drains, then is down for ${seconds} s`);
    await this.#service.drain();
    await this.close();
    await pause(seconds * 1_000);
    if (!keepsSignIns) {
      for (const signIn of this.signIns.all) signIn.ended ??= 'the relay has restarted';
      this.#stores = createStores(this.signIns, this.#settings.maxSessions);
    }
    this.#service = this.#start();
    await this.open();
    const kept = keepsSignIns ? 'every sign-in is still there' : 'it has forgotten every sign-in';
    say(`the relay is up again: ${kept}`);
  }

  #start(): Service {
    return startBackgroundTasks(this.#create(this.#settings, this.#stores), systemClock);
  }

  #create(settings: EnabledSettings, stores: Stores): Service {
    const { askProvider } = this.options;
    const dependencies = {
      clock: systemClock,
      randomBytes,
      fetch: (url: string, init: RequestInit) => askProvider(new Request(url, init)),
    };
    return createService(settings, dependencies, stores);
  }

  /** The service for a request: one of its own if the start or the link needs other settings. */
  #serviceFor({ searchParams }: URL, plan: Plan | undefined): Service {
    const linked = this.signIns.find(searchParams.get('state') ?? undefined)?.plan;
    const changed: Partial<Settings> | undefined =
      plan?.ending === 'expires'
        ? { sessionSeconds: plan.seconds }
        : linked?.ending === 'deny-at-relay'
          ? { confirm: 'always' }
          : undefined;
    if (changed === undefined) return this.#service;
    // It parks no poll, and the store would never drop its listener.
    const sessions = { ...this.#stores.sessions, listen: () => {} };
    return this.#create({ ...this.#settings, ...changed }, { ...this.#stores, sessions });
  }

  async #reportRefusal(url: URL, response: Response): Promise<void> {
    const { status } = response;
    const what = describeRequest(url);
    if (what === undefined) return;
    const id = digestOf(url.searchParams.get('session') ?? '');
    const signIn = this.signIns.all.findLast(({ session }) => session.ids.poll === id);
    if (status === 410 && signIn !== undefined) {
      // Every other ending is already noted.
      signIn.expire();
      say(`${what} got 410: ${signIn.ended}`, signIn.number);
      return;
    }
    const text = (await response.clone().text()).trim();
    say(`${what} got ${status} ${text}${remedyFor(text, what, this.options.services)}`);
  }
}

/** True if the request starts a sign-in. `/open` with a state is a link. */
const isStart = ({ method }: Request, { pathname, searchParams }: URL) =>
  method === 'POST' && !searchParams.has('state') && START_PATH.test(pathname);

const createStores = (signIns: DevSignIns, maxSessions: number): Stores => ({
  sessions: signIns.watch(createMemoryStore(systemClock, maxSessions)),
  vault: plainVault,
  refreshes: createMemoryRefreshStore(systemClock),
  createRateLimiter(name, policy) {
    const limiter = createMemoryRateLimiter(systemClock, policy);
    const take = () => {
      const request = signIns.requests.getStore();
      if (request?.plan?.ending !== 'rate-limited') return 0;
      request.isRefused = true;
      return request.plan.seconds * 1_000;
    };
    // An app's tests start, refresh and revoke often. Only guessing codes is limited.
    return name.startsWith('code') ? limiter : { ...limiter, take };
  },
});

/** Settings of what users see. The dev relay sets all others itself. */
const PAGE_SETTINGS = ['APP_NAME', 'LOGO', 'ACCENT', 'PRIVACY_URL', 'TERMS_URL', 'SUPPORT_URL'];

/** Read as an operator's settings are, to get the relay's defaults. */
function createSettings(
  baseUrl: string,
  providerUrl: string,
  { services, blind, open }: DevRelayOptions,
): EnabledSettings {
  const env: Record<string, string | undefined> = {
    ...Object.fromEntries(PAGE_SETTINGS.map((name) => [name, process.env[name]])),
    OAUTH_BASE_URL: baseUrl,
    PROVIDERS: services.join(','),
    CORS_ORIGINS: '*',
    BLIND: blind,
  };
  for (const service of services) {
    const prefix = prefixOf(service);
    env[`${prefix}CLIENT_ID`] = CLIENT_ID;
    env[`${prefix}DISPLAY_NAME`] = process.env[`${prefix}DISPLAY_NAME`];
    // The issuer disables a profile of the same name. Nothing is discovered there.
    env[`${prefix}ISSUER`] = 'http://127.0.0.1';
  }
  const read = readSettings(env, readTextFile);
  if (!read.ok) throw new CommandError(describeFaults(read.faults, read.warnings).trim());
  const authorizeUrl = `${providerUrl}/authorize`;
  const providers = read.settings.providers.map(
    ({ name, displayName }): ProviderConfig => ({
      name,
      displayName,
      clientId: CLIENT_ID,
      clientAuth: 'post',
      pkce: 'S256',
      authorizeUrl,
      authorizeParams: {},
      tokenUrl: `${providerUrl}/token`,
      revocation: { url: `${providerUrl}/revoke` },
    }),
  );
  return { ...read.settings, baseUrl, providers, ...(open && { openEndpoints: [authorizeUrl] }) };
}

/** A runtime writes its stack to stderr, into the output of an app's tests. */
const CUT_OFF = Object.assign(new Error(), { stack: 'The connection is cut off, as planned.' });

/** Sends the first half of the body, then breaks the connection. */
async function breakOff(response: Response): Promise<Response> {
  const body = new Uint8Array(await response.arrayBuffer());
  const half = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(body.subarray(0, body.length / 2)),
    async pull(controller) {
      // Time for the first half to leave.
      await pause(50);
      controller.error(CUT_OFF);
    },
  });
  return new Response(half, { status: response.status, headers: response.headers });
}
