/** The entry of the relay on Cloudflare Workers: passes each request to the one object. */
import { MAX_TOKEN_REQUEST_BYTES } from '../http/endpoints/refresh.ts';
import { basePathOf, readBody } from '../http/request.ts';
import { errorResponse } from '../http/responses.ts';
import { REQUEST_BODY_BYTES, STORE_RETRY_MAX_MS } from '../limits.ts';
import { log } from '../log.ts';
import { createDisabledService, createService, type Stores } from '../service.ts';
import { countWrong, isEnabled } from '../settings/index.ts';
import { StoreUnavailable } from '../sign-ins/store.ts';
import { pause, systemClock } from '../sign-ins/time.ts';
import { plainVault } from '../stores/memory.ts';
import { ADDRESSES, DEPENDENCIES, type Env } from './relay-object.ts';
import { readWorkerSettings, type WorkerSettings } from './settings.ts';

export { RelayObject } from './relay-object.ts';

/** The settings of a deployment do not change. Nothing else may be shared: a Worker may not use timers of another request. */
let settings: WorkerSettings | undefined;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const isFirst = settings === undefined;
    settings ??= readWorkerSettings(env);
    logProblems(settings, isFirst, request);
    if (settings.settings === undefined) {
      const wrong = `not configured: ${countWrong(settings.faults)}, and the log says which`;
      const { baseUrl } = settings;
      const basePath = baseUrl === undefined ? '' : basePathOf(baseUrl);
      return createDisabledService(wrong, basePath).handle(request, ADDRESSES);
    }
    if (!isEnabled(settings.settings)) return createDisabledService().handle(request, ADDRESSES);
    if (Number(request.headers.get('content-length')) > REQUEST_BODY_BYTES) {
      return errorResponse('body_too_large');
    }
    // One more byte than any endpoint reads, so that it notices that the body is too long.
    const limitBytes = MAX_TOKEN_REQUEST_BYTES + 1;
    const { text: body } = await readBody(request, limitBytes, systemClock);
    try {
      const { RELAY } = env;
      return await RELAY.get(RELAY.idFromName(OBJECT)).fetch(copyOf(request, body));
    } catch (error) {
      logFailure(error);
      // The device polls again at once. After this pause the object may be back.
      await pause(systemClock, STORE_RETRY_MAX_MS);
      const withoutObject = createService(settings.settings, DEPENDENCIES, UNAVAILABLE);
      return withoutObject.handle(copyOf(request, body, AbortSignal.abort()), ADDRESSES);
    }
  },
};

/** The name of the object, which has all sign-ins. */
const OBJECT = '0';

/** Logs the faults at each `/ready` too, because an operator may have just begun to read the log. */
function logProblems(read: WorkerSettings, isFirst: boolean, { url }: Request): void {
  if (isFirst || new URL(url).pathname.endsWith('/ready')) {
    for (const fault of read.faults) log.error('setting', { ...fault });
  }
  if (isFirst) for (const warning of read.warnings) log.warning('setting', { ...warning });
}

/** The request for an object. Its body is sent once more if the object fails. */
function copyOf({ url, method, headers, signal }: Request, body: string, by = signal): Request {
  const passed = new Headers(headers);
  // The relay trusts no proxy here, and would warn that it ignores the header.
  passed.delete('x-forwarded-for');
  passed.delete('content-length');
  // The browser follows the redirect to the provider, not the Worker.
  const redirect = 'manual';
  const init = { method, headers: passed, signal: by, redirect } as const;
  // The copy of a GET may have no body, and no route reads one.
  return new Request(url, method === 'POST' ? { ...init, body } : init);
}

/** The object was reset or is overloaded, or a limit of the plan is reached. */
function logFailure(error: unknown): void {
  const { overloaded = false, retryable = false } = error as Record<string, unknown>;
  log.warning('object_failed', { overloaded, retryable });
}

const fail = () => {
  throw new StoreUnavailable('the object has failed');
};

/** The stores of a request whose object has failed: each route responds as when any store is unavailable. */
const UNAVAILABLE: Stores = {
  sessions: {
    create: fail,
    update: fail,
    listen() {},
    sweep: () => [],
    countLive: fail,
  },
  vault: plainVault,
  refreshes: { begin: fail, finish: fail },
  createRateLimiter: () => ({ take: fail, refund: fail, sweep() {} }),
  findProblem: () => ({ status: 'down', reason: 'store: the object has failed' }),
};
