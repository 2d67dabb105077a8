/**
 * The real relay, with sessions in memory and a few faults on request: it restarts, is
 * full, or breaks a connection. Everything else is the relay's own code, so an app gets
 * what it would get in production.
 */
import { randomBytes } from 'node:crypto';
import type { Peers } from '../../http/request.ts';
import { refuse } from '../../http/responses.ts';
import type { Fetch } from '../../providers/config.ts';
import { createService, type Service, type Stores } from '../../service.ts';
import {
  describeFaults,
  type EnabledSettings,
  readSettings,
  type Settings,
} from '../../settings/index.ts';
import { createMemoryRateLimiter } from '../../sign-ins/rate-limits.ts';
import { systemClock } from '../../sign-ins/time.ts';
import { plainVault } from '../../sign-ins/vault.ts';
import { maintain } from '../../start-service.ts';
import { createMemoryRefreshStore, createMemoryStore } from '../../stores/memory.ts';
import { readTextFile } from '../../text-file.ts';
import { urlOf } from './http.ts';
import type { DevListener } from './listen.ts';
import type { Plan } from './scenarios.ts';
import {
  createStartLimiter,
  type DevSignIn,
  type RequestContext,
  type SignIns,
  watchStore,
} from './sign-ins.ts';
import { explainRefusal, type RefusedRequest } from './story.ts';

/** The service if `--service` is not given. */
export const DEFAULT_SERVICE = 'dev';

/** The dev relay's client id at the dev provider. */
export const CLIENT_ID = 'sign-in-relay-dev';

/** The peer of requests that are made in this process. */
export const LOCAL_PEERS: Peers = { requestIP: () => ({ address: '127.0.0.1' }) };

/** What a start that is planned so gets. Planned and refused otherwise, it is still to come. */
const REFUSALS: Readonly<Record<string, number | undefined>> = { full: 503, 'rate-limited': 429 };

export interface DevRelayOptions {
  readonly baseUrl: string;
  readonly providerUrl: string;
  readonly services: readonly string[];
  /** The relay's BLIND. */
  readonly blind: 'never' | 'allow' | 'always';
  readonly signIns: SignIns;
  /** Calls the provider in this process. */
  readonly fetch: Fetch;
  readonly say: (text: string) => void;
  /** Where it listens. A restart closes it for a while. */
  readonly listener: DevListener;
  /** Opens the link of a sign-in as a user would. */
  readonly openLink: (signIn: DevSignIn) => void;
  /** The environment. Only its PAGE_SETTINGS apply. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Its message says what is wrong with those settings, for the user. */
export class SettingsProblem extends Error {}

export type DevRelay = ReturnType<typeof createDevRelay>;

/** Throws SettingsProblem. */
export function createDevRelay(options: DevRelayOptions) {
  const { signIns, say, listener, openLink } = options;
  const settings = settingsFor(options);
  const offered = settings.providers.map(({ name }) => name);
  const services = createServices(settings, options);
  let restarting: { readonly keepsSignIns: boolean; readonly done: Promise<void> } | undefined;

  async function restartOnce(seconds: number, keepsSignIns: boolean): Promise<void> {
    say(`the relay restarts: it drains, then is down for ${seconds} s`);
    await services.drain();
    await listener.close();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    services.replace(keepsSignIns);
    await listener.open();
    const kept = keepsSignIns ? 'every sign-in is still there' : 'it has forgotten every sign-in';
    say(`the relay is up again: ${kept}`);
  }

  return {
    services: offered,

    linkOf: ({ service, browserState }: DevSignIn) =>
      `${settings.baseUrl}/auth/${service}?state=${browserState}`,

    async handle(request: Request, peers: Peers): Promise<Response> {
      const url = urlOf(request);
      if (url === undefined) return refuse('malformed_request');
      const plan = isStart(request, url) ? signIns.planned.shift() : undefined;
      const context: RequestContext = { plan, started: undefined, isCut: false };
      const response = await signIns.context.run(context, () =>
        services.find(url, plan).handle(request, peers),
      );
      const { status } = response;
      if (plan !== undefined && status === REFUSALS[plan.scenario]) {
        say(`a start was refused with ${status}, as planned ("${plan.scenario}")`);
      } else {
        if (plan !== undefined && status !== 200) signIns.planned.unshift(plan);
        if (status >= 400 && isOfDevice(url)) await tellRefusal(url, response, offered, options);
      }
      if (plan?.auto && context.started !== undefined) openLink(context.started);
      return context.isCut ? breakOff(response) : response;
    },

    /** Restarts as production does: it drains, is down, and listens again. Taps that ask for the same during it share one restart. */
    restart(seconds: number, keepsSignIns: boolean): Promise<void> {
      const other = restarting;
      if (other?.keepsSignIns === keepsSignIns) return other.done;
      const before = Promise.resolve(other?.done).catch(() => {});
      const done = before.then(() => restartOnce(seconds, keepsSignIns));
      const current = { keepsSignIns, done };
      restarting = current;
      return done.finally(() => {
        if (restarting === current) restarting = undefined;
      });
    },
  };
}

/** Variants of the relay on the same stores: one for each lifetime of sessions, and one that always confirms. */
function createServices(settings: EnabledSettings, { signIns, fetch }: DevRelayOptions) {
  const dependencies = { clock: systemClock, randomBytes, fetch };
  const create = (changed: Partial<Settings> = {}) =>
    createService({ ...settings, ...changed }, dependencies, stores);
  let stores = createStores(signIns, settings.maxSessions);
  let usual: Service = maintain(create(), systemClock);
  const others = new Map<string, Service>();
  const all = () => [usual, ...others.values()];

  function variant(changed: Partial<Settings>): Service {
    const key = JSON.stringify(changed);
    const service = others.get(key) ?? create(changed);
    others.set(key, service);
    return service;
  }

  return {
    find({ pathname, searchParams }: URL, plan: Plan | undefined): Service {
      if (plan?.scenario === 'expires') return variant({ sessionSeconds: plan.seconds });
      const isLink = settings.providers.some(({ name }) => pathname === `/auth/${name}`);
      const signIn = isLink ? signIns.find(searchParams.get('state') ?? '') : undefined;
      const confirms = signIn?.plan?.scenario === 'deny-at-relay';
      return confirms ? variant({ confirm: 'always' }) : usual;
    },
    drain: () => Promise.all(all().map((service) => service.drain())),
    replace(keepsSignIns: boolean): void {
      for (const service of all()) service.close();
      if (!keepsSignIns) {
        signIns.forgetAll();
        stores = createStores(signIns, settings.maxSessions);
      }
      others.clear();
      usual = maintain(create(), systemClock);
    },
  };
}

async function tellRefusal(
  url: URL,
  response: Response,
  offered: readonly string[],
  { signIns, say }: DevRelayOptions,
): Promise<void> {
  const { status } = response;
  const what = describeAsked(url);
  const signIn = signIns.findByPollSecret(url.searchParams.get('session') ?? '');
  if (status === 410 && signIn !== undefined) {
    // Every other ending is already noted.
    signIns.tellExpired(signIn);
    return signIns.tell(signIn, `${what} got 410: ${signIn.ended}`);
  }
  const text = (await response.clone().text()).trim();
  say(explainRefusal({ what, status, text }, offered));
}

function isStart({ method }: Request, { pathname }: URL): boolean {
  return (
    method === 'POST' &&
    (pathname === '/auth/start' || /^\/oauth2\/[^/]+\/device_authorization$/.test(pathname))
  );
}

/** Requests of devices in the relay's own protocol. Errors of the device grant have a description. */
const isOfDevice = ({ pathname }: URL) => ['/auth/start', '/auth/result'].includes(pathname);

function describeAsked({ pathname, searchParams }: URL): RefusedRequest['what'] {
  if (pathname === '/auth/start') return 'a start';
  if (searchParams.get('ack') === '1') return 'an acknowledgement';
  return searchParams.get('cancel') === '1' ? 'a cancellation' : 'a poll';
}

/** The limit of refreshes and revocations, because an app's tests send many. Guessing codes stays limited. */
const NO_LIMIT = { burst: 1, ratePerSecond: Number.POSITIVE_INFINITY };

function createStores(signIns: SignIns, maxSessions: number): Stores {
  return {
    sessions: watchStore(createMemoryStore(systemClock, maxSessions), signIns),
    vault: plainVault,
    refreshes: createMemoryRefreshStore(systemClock),
    createRateLimiter(name, policy) {
      if (name === 'start') return createStartLimiter(signIns);
      const isFree = name === 'refresh' || name === 'revoke';
      return createMemoryRateLimiter(systemClock, isFree ? NO_LIMIT : policy);
    },
    close: () => {},
  };
}

/** Settings of what users see. The dev relay sets all others itself. */
const PAGE_SETTINGS = [
  'APP_NAME',
  'LOGO',
  'ACCENT',
  'PRIVACY_URL',
  'TERMS_URL',
  'SUPPORT_URL',
] as const;

/** Read as an operator's settings are, to get the relay's defaults. */
function settingsFor(options: DevRelayOptions) {
  const { baseUrl, providerUrl, services } = options;
  const env: Record<string, string | undefined> = {
    ...Object.fromEntries(PAGE_SETTINGS.map((name) => [name, options.env[name]])),
    OAUTH_BASE_URL: baseUrl,
    PROVIDERS: services.join(','),
    CORS_ORIGINS: '*',
    BLIND: options.blind,
  };
  for (const service of services) {
    const prefix = service.replaceAll('-', '_').toUpperCase();
    env[`${prefix}_CLIENT_ID`] = CLIENT_ID;
    env[`${prefix}_DISPLAY_NAME`] = options.env[`${prefix}_DISPLAY_NAME`];
    // Replaced below: an operator's provider must use https, but this one is in the same process.
    env[`${prefix}_AUTHORIZE_URL`] = 'http://127.0.0.1/authorize';
    env[`${prefix}_TOKEN_URL`] = 'http://127.0.0.1/token';
    env[`${prefix}_PKCE`] = 'S256';
  }
  const read = readSettings(env, readTextFile);
  if (!read.ok) throw new SettingsProblem(describeFaults(read.faults, read.warnings).trim());
  const providers = read.settings.providers.map((provider) => ({
    ...provider,
    authorizeUrl: `${providerUrl}/authorize`,
    tokenUrl: `${providerUrl}/token`,
    revocation: { url: `${providerUrl}/revoke` },
  }));
  return { ...read.settings, baseUrl, providers };
}

/** Sends the first half of the body, then breaks the connection. */
async function breakOff(response: Response): Promise<Response> {
  const body = new Uint8Array(await response.arrayBuffer());
  let isSent = false;
  const half = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (isSent) {
        // Time for the first half to leave.
        await new Promise((resolve) => setTimeout(resolve, 50));
        return controller.error(new Error('cut off'));
      }
      isSent = true;
      controller.enqueue(body.subarray(0, body.length / 2));
    },
  });
  return new Response(half, { status: response.status, headers: response.headers });
}
