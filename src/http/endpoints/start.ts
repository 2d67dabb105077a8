/** `POST /auth/start`: a device starts a sign-in. docs/protocol.md §2. */
import { ACK_MS } from '../../limits.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { Providers } from '../../providers/provider.ts';
import type { RateLimiter } from '../../relay/rate-limit.ts';
import type { Relay, Started } from '../../relay/relay.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import { formatUserCode, linkOf, qrLinkOf, shortLinkOf } from '../links.ts';
import { type BodyReader, parseMembers } from '../request.ts';
import { jsonResponse, RETRY_DISCOVERY, refuse, retryAfter } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** How much of the body is read. A longer body is cut there. */
const MAX_BODY_BYTES = 512;

export interface StartParts {
  readonly admission: Admission;
  readonly startLimiter: RateLimiter;
  readonly bodies: BodyReader;
  readonly providers: Providers;
  readonly relay: Relay;
  readonly signInLog: SignInLog;
  readonly baseUrl: string;
  readonly sessionSeconds: number;
}

/** The checks are made in the order of docs/protocol.md §2. */
export function createStart(parts: StartParts): Handler {
  const { admission, startLimiter, bodies, providers, relay, signInLog } = parts;
  return async (request) => {
    const admitted = admission.admit(request, startLimiter);
    const refused = admitted instanceof Promise ? await admitted : admitted;
    if (refused?.refusal === 'rate_limited') {
      return refuse('rate_limited', retryAfter(refused.retryAfterMs));
    }
    if (refused !== undefined) return refuse(refused.refusal);
    let asked: Readonly<Record<string, unknown>>;
    try {
      asked = parseMembers((await bodies.read(request.raw, MAX_BODY_BYTES)).text);
    } catch {
      return refuse('invalid_json');
    }
    // A member of a wrong type counts as missing.
    const service = typeof asked.service === 'string' ? asked.service : '';
    const provider = providers.get(service);
    if (provider === undefined) return refuse('unknown_service');
    if (provider === 'undiscovered') return refuse('busy', RETRY_DISCOVERY);
    const started = await relay.start(service, {
      withVerifier: provider.usesPkce,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      repeatMs: asked.ack === true ? ACK_MS : undefined,
      keepsErrors: false,
    });
    signInLog.started(request, service, started);
    if (typeof started === 'string') return refuse('busy');
    return jsonResponse(describeStarted(service, started, parts));
  };
}

/** The last three members are only for a device that asked for a code. */
function describeStarted(
  service: string,
  { pollSecret, browserState, userCode }: Started,
  { baseUrl, sessionSeconds }: StartParts,
): object {
  const url = linkOf(baseUrl, service, browserState);
  if (userCode === undefined) return { session: pollSecret, url, expiresIn: sessionSeconds };
  return {
    session: pollSecret,
    url,
    expiresIn: sessionSeconds,
    userCode: formatUserCode(userCode),
    link: shortLinkOf(baseUrl, userCode),
    qr: qrLinkOf(baseUrl, userCode),
  };
}
