/** `POST /auth/start`: a device starts a sign-in. docs/protocol.md §2. */
import { ACK_MS } from '../../limits.ts';
import { log } from '../../log.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { BlindPolicy, Provider, Providers } from '../../providers/provider.ts';
import type { Relay, Started } from '../../relay/relay.ts';
import type { Admission, Refused } from '../admission.ts';
import type { Handler } from '../app.ts';
import { formatUserCode, linkOf, qrLinkOf, shortLinkOf } from '../links.ts';
import { type BodyReader, parseMembers, type RelayRequest } from '../request.ts';
import { type Headers, jsonResponse, RETRY_DISCOVERY, refuse, retryAfter } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** How much of the body is read. A longer body is cut there. */
const MAX_BODY_BYTES = 512;

/** SHA-256 in base64url: 43 characters, of which the last has four bits. RFC 7636 §4.2. */
const CHALLENGE = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

/** What a start may have, and of which type. */
const MEMBERS = {
  service: 'string',
  code: 'boolean',
  device: 'string',
  ack: 'boolean',
  details: 'boolean',
  challenge: 'string',
} as const;

type Members = Readonly<Record<string, unknown>>;

export interface StartParts {
  readonly admission: Admission;
  readonly bodies: BodyReader;
  readonly providers: Providers;
  readonly relay: Relay;
  readonly signInLog: SignInLog;
  readonly baseUrl: string;
  readonly sessionSeconds: number;
  readonly blind: BlindPolicy;
}

/**
 * The answers are those of docs/protocol.md §2, in that order. The rate limit is the
 * store's, which takes the token of a start as it registers the session, in one round
 * trip. So the body is read before, unless the address is known to have no token.
 */
export function createStart(parts: StartParts): Handler {
  const { admission, bodies, providers, relay, signInLog, blind } = parts;

  function limited(refused: Refused): Response {
    return refused.refusal === 'rate_limited'
      ? refuse('rate_limited', retryAfter(refused.retryAfterMs))
      : refuse(refused.refusal);
  }

  /** Costs a token too. */
  async function refuseStart(
    startedBy: string,
    refusal: Parameters<typeof refuse>[0],
    headers?: Headers,
  ): Promise<Response> {
    const refused = await admission.takeStart(startedBy);
    return refused === undefined ? refuse(refusal, headers) : limited(refused);
  }

  return async (request) => {
    const startedBy = admission.admitStart(request);
    if (typeof startedBy !== 'string') return limited(startedBy);
    let asked: Members;
    try {
      const { text, isCut } = await bodies.read(request.raw, MAX_BODY_BYTES);
      if (isCut) log.debug('start_body_cut', { requestId: request.id, readBytes: MAX_BODY_BYTES });
      asked = parseMembers(text);
    } catch {
      return refuseStart(startedBy, 'invalid_json');
    }
    if (log.isEnabledFor('debug')) logIgnoredMembers(request, asked);
    // A member of a wrong type counts as missing. But not the challenge: the relay
    // would see tokens that the device wanted to keep from it.
    const service = typeof asked.service === 'string' ? asked.service : '';
    const provider = providers.get(service);
    if (provider === undefined) return refuseStart(startedBy, 'unknown_service');
    if (provider === 'undiscovered') return refuseStart(startedBy, 'busy', RETRY_DISCOVERY);
    const challenge = readChallenge(asked.challenge, provider, blind);
    if (typeof challenge === 'object') return refuseStart(startedBy, challenge.refusal);
    const started = await relay.start(service, {
      withVerifier: provider.usesPkce && challenge === undefined,
      challenge,
      details: asked.details === true,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      repeatMs: asked.ack === true ? ACK_MS : undefined,
      keepsErrors: false,
      startedBy,
    });
    signInLog.started(request, service, started);
    if (typeof started === 'string') return refuse('busy');
    if ('retryAfterMs' in started) {
      return limited(admission.refuseStart(startedBy, started.retryAfterMs));
    }
    return jsonResponse(describeStarted(service, started, parts));
  };
}

/** The device's own challenge. Undefined: it brings none. */
function readChallenge(challenge: unknown, provider: Provider, blind: BlindPolicy) {
  if (challenge === undefined) {
    return blind === 'always' ? ({ refusal: 'challenge_required' } as const) : undefined;
  }
  if (typeof challenge !== 'string' || !CHALLENGE.test(challenge)) {
    return { refusal: 'invalid_challenge' } as const;
  }
  const isTaken = blind !== 'never' && provider.takesChallenge;
  return isTaken ? challenge : ({ refusal: 'challenge_not_supported' } as const);
}

/** Lines of one request. 512 bytes hold 80 members. */
const MAX_LOGGED_MEMBERS = 8;

/** A longer name could be a secret: the relay's own have 24 characters and more. */
const LOGGABLE_NAME = /^[a-z_]\w{0,22}$/i;

/** For an app developer who wonders why a member has no effect. Never its value. */
function logIgnoredMembers(request: RelayRequest, asked: Members): void {
  const known: Readonly<Record<string, string>> = MEMBERS;
  const ignored = Object.keys(asked).filter(
    (name) => !Object.hasOwn(known, name) || typeof asked[name] !== known[name],
  );
  for (const name of ignored.slice(0, MAX_LOGGED_MEMBERS)) {
    log.debug('start_member_ignored', {
      requestId: request.id,
      member: LOGGABLE_NAME.test(name) ? name : '…',
      expected: Object.hasOwn(known, name) ? known[name] : 'no such member',
    });
  }
}

/** The last three only for a device that asked for a code. */
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
