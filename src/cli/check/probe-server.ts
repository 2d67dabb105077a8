/**
 * Listens instead of the relay while it does not run, to see whether a request to the base
 * URL arrives here, with which path, and from which address.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFindBucket, type ForwardedProblem } from '../../http/admission.ts';
import { createApp, type HandleRequest, type Handler, type Route } from '../../http/app.ts';
import { respondToResultFault } from '../../http/endpoints/device.ts';
import { oauthErrorResponse } from '../../http/oauth-responses.ts';
import { basePathOf, type RelayRequest, readPath } from '../../http/request.ts';
import { errorResponse, retryAfter, textResponse } from '../../http/responses.ts';
import { IDLE_MARGIN_SECONDS } from '../../limits.ts';
import { listen } from '../../server/listen.ts';
import type { Runtime } from '../../server/runtime.ts';
import type { EnabledSettings } from '../../settings/index.ts';

export interface Arrival {
  readonly path: string;
  readonly peerAddress: string | undefined;
  /** The client's address as the relay takes it. */
  readonly client: string | undefined;
  readonly hasForwardedFor: boolean;
  readonly forwardedProblem: ForwardedProblem | undefined;
}

export type ProbeServer = Awaited<ReturnType<typeof startProbeServer>>;

/** Identifies a response of the probe server. */
export const PROBE_TEXT = 'sign-in-relay check';

/** For `Retry-After`: `check` ends within about a minute, and then the relay can start. */
const RETRY_MS = 30_000;

/**
 * Listens where the relay would. Only requests with `check=<word>` get a 200, and polls
 * among them are held as the relay holds them. Other clients, such as a device or a load
 * balancer, get what a busy relay sends. Rejects as `listen` does.
 */
export async function startProbeServer(runtime: Runtime, settings: EnabledSettings, word: string) {
  const { baseUrl, pollSeconds, trustedProxyCidrs } = settings;
  const arrivals: Arrival[] = [];
  const basePath = basePathOf(baseUrl);
  const app = createApp(createRoutes(word, pollSeconds), { basePath });
  let forwardedProblem: ForwardedProblem | undefined;
  const findBucket = createFindBucket(trustedProxyCidrs, (problem) => {
    forwardedProblem = problem;
  });
  const handle: HandleRequest = (request, addresses) => {
    if (request.url.includes(word)) {
      arrivals.push({
        path: readPath(request.url),
        peerAddress: addresses.requestIP(request)?.address,
        client: findBucket({ raw: request, addresses }),
        hasForwardedFor: request.headers.has('x-forwarded-for'),
        forwardedProblem,
      });
    }
    return app(request, addresses);
  };
  const idleSeconds = pollSeconds + IDLE_MARGIN_SECONDS;
  const listener = await listen(runtime, settings, { handle, idleSeconds });
  return {
    arrivals: arrivals as readonly Arrival[],
    stop(): void {
      void listener.stop();
      listener.cut();
    },
  };
}

function createRoutes(word: string, pollSeconds: number): readonly Route[] {
  const isOurs = (request: RelayRequest) => request.query('check') === word;
  const answer = () => textResponse(200, PROBE_TEXT);
  const busyResponse = () => errorResponse('busy', retryAfter(RETRY_MS));
  const health: Handler = (request) => (isOurs(request) ? answer() : busyResponse());
  const poll: Handler = async (request) => {
    const response = isOurs(request) ? answer() : respondToResultFault(request);
    // An acknowledgement and a cancellation are refused at once.
    if (response.status === 503) return response;
    const { signal } = request.raw;
    await sleep(pollSeconds * 1_000, undefined, { signal, ref: false }).catch(() => {});
    return response;
  };
  // Many clients of the device grant treat any other error as final.
  const token: Handler = () => oauthErrorResponse('authorization_pending');
  return [
    { path: '/health', methods: { GET: health, HEAD: health } },
    { path: '/auth/result', methods: { GET: poll } },
    { path: '/oauth2/:service/token', methods: { POST: token } },
    { path: '/*', respond: busyResponse },
  ];
}
