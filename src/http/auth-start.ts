/** `POST /auth/start`: a device asks for a link. `protocol.md` §4. */
import { START_BODY_BYTES, START_BODY_DEADLINE_MS } from '../limits.ts';
import { log } from '../operate/log.ts';
import { createDeadlines, type Deadlines } from '../relay/deadlines.ts';
import { jsonAnswer } from './answers.ts';
import type { AuthDoorOptions } from './auth-options.ts';
import { refuse, refuseMethod } from './errors.ts';
import type { Handler } from './guard.ts';

/** The checks stand in the order that the specification gives them. */
export function createStart(options: AuthDoorOptions): Handler {
  const { relay, rateLimiter, findClientAddress, providers, clock, baseUrl } = options;
  const bodyDeadlines = createDeadlines(clock, START_BODY_DEADLINE_MS);
  const warnOfIgnoredForwarded = createWarnOnce('forwarded_header_ignored', IGNORED_FORWARDED_HINT);
  const warnOfBusy = createWarnOnce('sessions_full', SESSIONS_FULL_HINT);

  return async ({ req, env }, requestId) => {
    if (req.method !== 'POST') return refuseMethod('POST');
    const client = findClientAddress(env.peerAddress, req.header('x-forwarded-for'));
    if (!client.ok) return refuse('invalid_client_address');
    if (client.ignoredForwarded) warnOfIgnoredForwarded();
    const limit = await rateLimiter.take(client.bucket, clock.now());
    if (!limit.ok) return refuse('rate_limited', retryAfter(limit.retryAfterMs));
    const service = await readService(req.raw.body, bodyDeadlines);
    if (service === undefined) return refuse('invalid_json');
    const enabled = providers.get(service);
    if (enabled === undefined) return refuse('unknown_service');
    const started = await relay.start(service, { withVerifier: enabled.provider.pkce !== 'none' });
    if (!started.ok) {
      if (started.refusal === 'busy') warnOfBusy();
      return refuse(started.refusal);
    }
    log.debug('sign_in_started', { requestId, service });
    return jsonAnswer({
      session: started.pollSecret,
      url: `${baseUrl}/auth/${service}?state=${started.browserState}`,
      expiresIn: options.sessionSeconds,
    });
  };
}

/**
 * Returns the `service` that the JSON names ('' when it names none), undefined
 * when it is not JSON. Reads at most START_BODY_BYTES and no longer than the
 * deadline: what has come by then is the body.
 */
async function readService(
  body: ReadableStream<Uint8Array> | null,
  deadlines: Deadlines,
): Promise<string | undefined> {
  try {
    const json: unknown = JSON.parse(await readStartOf(body, deadlines));
    if (typeof json !== 'object' || json === null || !('service' in json)) return '';
    return typeof json.service === 'string' ? json.service : '';
  } catch {
    return undefined;
  }
}

async function readStartOf(
  body: ReadableStream<Uint8Array> | null,
  deadlines: Deadlines,
): Promise<string> {
  if (body === null) return '';
  const bytes = new Uint8Array(START_BODY_BYTES);
  let length = 0;
  const reader = body.getReader();
  // A client that leaves in mid-body makes this fail, and it is nobody's fault.
  const stopReading = () => void reader.cancel().catch(() => {});
  const callOff = deadlines.add(stopReading);
  try {
    while (length < START_BODY_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      const part = value.subarray(0, START_BODY_BYTES - length);
      bytes.set(part, length);
      length += part.byteLength;
    }
  } finally {
    callOff();
    stopReading();
  }
  return new TextDecoder().decode(bytes.subarray(0, length));
}

/** RFC 9110 §10.2.3, in whole seconds. */
function retryAfter(retryAfterMs: number): Record<string, string> {
  return { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) };
}

/** Once in the life of a process: it would come with every request. */
function createWarnOnce(event: string, hint: string): () => void {
  let warned = false;
  return () => {
    if (!warned) log.warning(event, { hint });
    warned = true;
  };
}

const IGNORED_FORWARDED_HINT =
  'X-Forwarded-For came from a peer outside TRUSTED_PROXY_CIDRS: all clients behind that proxy share one rate limit';

const SESSIONS_FULL_HINT =
  'as many sign-ins are open as may be: starts are answered 503 until one ends (MAX_SESSIONS)';
