import { randomBytes } from 'node:crypto';
import { describeApi } from '../../src/http/openapi/document.ts';
import type { Stores } from '../../src/open-stores.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { Fetch } from '../../src/providers/token-endpoint.ts';
import type { RandomBytes } from '../../src/relay/secrets.ts';
import type { SessionStore } from '../../src/relay/store.ts';
import { createService } from '../../src/service.ts';
import type { Settings } from '../../src/settings/index.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import {
  createMemoryRateLimiter,
  type MemoryRateLimiter,
} from '../../src/stores/memory-rate-limiter.ts';
import { createMemoryRefreshAnswers } from '../../src/stores/memory-refresh-answers.ts';
import { createHoldToDocument, type HoldToDocument } from './answers-seen.ts';
import { createFakeClock, runReady } from './fake-clock.ts';

export const BASE_URL = 'https://relay.test';

const MAL: Provider = {
  name: 'mal',
  displayName: 'MyAnimeList',
  authorizeUrl: 'https://mal.test/authorize',
  tokenUrl: 'https://mal.test/token',
  clientId: 'mal-client',
  clientAuth: 'post',
  pkce: 'plain',
  authorizeParams: {},
};

const ANILIST: Provider = {
  ...MAL,
  name: 'anilist',
  displayName: 'AniList',
  authorizeUrl: 'https://anilist.test/authorize',
  tokenUrl: 'https://anilist.test/token',
  clientId: 'anilist-client',
  clientSecret: 'anilist-client-secret',
  pkce: 'none',
};

export const SETTINGS: Settings & { baseUrl: string } = {
  baseUrl: BASE_URL,
  port: 0,
  trustedProxyCidrs: [],
  providers: [MAL, ANILIST],
  discoveries: [],
  providerKeepAlive: true,
  sessionSeconds: 600,
  pollSeconds: 50,
  maxSessions: 5_000,
  deviceGrantRepeatSeconds: 60,
  startBurst: 3,
  startRatePerSecond: 1,
  confirm: 'code',
  corsOrigins: [],
  logLevel: 'info',
  logFormat: 'json',
};

/** A provider's token endpoint that grants whatever it is asked for. */
const grantTokens: Fetch = async () =>
  Response.json({ access_token: 'granted', expires_in: 3_600 });

/** What of the service is not as usual: stores other than memory, or a change to those. */
export interface TestParts extends Partial<Stores> {
  /** The memory store as the service sees it, such as one with a verb that fails. */
  readonly changeStore?: (store: SessionStore) => SessionStore;
  readonly randomBytes?: RandomBytes;
  readonly fetchesAtOnce?: number;
}

/** Schemas take a while to compile, and there are more services in the tests than documents. */
const held = new Map<string, HoldToDocument>();

function holdToDocumentOf(baseUrl: string): HoldToDocument {
  const hold = held.get(baseUrl) ?? createHoldToDocument(describeApi(baseUrl));
  held.set(baseUrl, hold);
  return hold;
}

/** The whole service behind its fetch handler, in a world of fake time and a fake provider. */
export function createTestService(
  overrides: Partial<typeof SETTINGS> = {},
  fetch: Fetch = grantTokens,
  parts: TestParts = {},
) {
  const clock = createFakeClock();
  const exchanges: URLSearchParams[] = [];
  const settings = { ...SETTINGS, ...overrides };
  const store = createMemoryStore(settings);
  const refreshAnswers = createMemoryRefreshAnswers(clock);
  const limiters = new Map<string, MemoryRateLimiter>();
  const service = createService(
    settings,
    {
      clock,
      randomBytes: parts.randomBytes ?? randomBytes,
      ...(parts.fetchesAtOnce !== undefined && { fetchesAtOnce: parts.fetchesAtOnce }),
      fetch: (url, init) => {
        exchanges.push(new URLSearchParams(String(init.body)));
        return fetch(url, init);
      },
    },
    {
      store: parts.changeStore?.(store) ?? store,
      refreshAnswers,
      createRateLimiter(name, policy) {
        const limiter = createMemoryRateLimiter(policy);
        limiters.set(name, limiter);
        return limiter;
      },
      close: () => {},
      ...parts,
    },
  );
  const holdToDocument = holdToDocumentOf(settings.baseUrl);
  let clients = 0;

  async function send(path: string, init: RequestInit = {}, peer = '192.0.2.1') {
    const request = new Request(new URL(path, BASE_URL), init);
    const { method, url } = request;
    return holdToDocument(method, url, await service.handle(request, () => peer));
  }

  /** A start by a client that nobody has seen before, so that no rate limit bites. */
  async function start(name = 'mal', basePath = '') {
    clients += 1;
    const peer = `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
    const response = await send(`${basePath}/auth/start`, startOf(name), peer);
    const { session, url } = (await response.json()) as { session: string; url: string };
    const state = new URL(url).searchParams.get('state') ?? '';
    return { response, session, url, state };
  }

  const poll = (session: string, init: RequestInit = {}) =>
    send(`/auth/result?session=${session}`, init);
  const callback = (state: string, query = 'code=c', name = 'mal') =>
    send(`/auth/${name}/callback?state=${state}&${query}`);

  return {
    ...service,
    clock,
    store,
    limiters,
    refreshAnswers,
    exchanges,
    send,
    start,
    poll,
    callback,
    runReady,
  };
}

export function startOf(service: string): RequestInit {
  return { method: 'POST', body: JSON.stringify({ service }) };
}
