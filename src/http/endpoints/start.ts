/** `POST /auth/start`: a device starts a sign-in. docs/protocol.md §2. */
import { log } from '../../log.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { BlindPolicy } from '../../providers/config.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Relay } from '../../relay/relay.ts';
import type { SessionSecrets } from '../../relay/secrets.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import type { Providers } from '../enabled-providers.ts';
import { formatUserCode, linkOf, qrLinkOf, shortLinkOf } from '../links.ts';
import { type BodyReader, parseMembers, type RelayRequest } from '../request.ts';
import { jsonResponse, type Refused, refused } from '../responses.ts';
import type { SignInLog } from '../sign-in-log.ts';

/** How much of the body is read. A longer body is cut there. */
const MAX_BODY_BYTES = 512;

/** SHA-256 in base64url: 43 characters, of which the last has four bits. RFC 7636 §4.2. */
const CHALLENGE = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

/** How long after its first delivery a device that acknowledges (`ack`) may claim its result again. */
export const ACK_MS = 60_000;

/** The members of a start and their types. */
const MEMBERS = {
  service: 'string',
  code: 'boolean',
  device: 'string',
  ack: 'boolean',
  details: 'boolean',
  challenge: 'string',
} as const;

type StartMembers = Readonly<Record<string, unknown>>;

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

/** Refuses in the order of docs/protocol.md §2. A start that is refused later costs a token too. */
export function createStart(parts: StartParts): Handler {
  const { admission, bodies, providers, relay, signInLog, blind } = parts;
  return async (request) => {
    const admitted = await admission.admitStart(request);
    if (!admitted.ok) return admitted;
    const asked = await readMembers(request, bodies);
    if (asked === undefined) return refused('invalid_json');
    if (log.isEnabledFor('debug')) logIgnoredMembers(request, asked);
    // A member of a wrong type counts as missing, except the challenge: the relay would see
    // tokens that the device wanted to hide from it.
    const service = typeof asked.service === 'string' ? asked.service : '';
    const found = providers.find(service);
    if (!found.ok) return found;
    const { provider } = found;
    const challenge = readChallenge(asked.challenge, provider, blind);
    if (!challenge.ok) return challenge;
    const started = await relay.start(service, {
      withVerifier: provider.usesPkce && challenge.value === undefined,
      challenge: challenge.value,
      details: asked.details === true,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      repeatMs: asked.ack === true ? ACK_MS : undefined,
      keepsErrors: false,
    });
    signInLog.started(request, service, started);
    if (!started.ok) return started;
    return jsonResponse(describeStarted(service, started.secrets, parts));
  };
}

/** Undefined if it is not JSON, or the device disconnects. */
async function readMembers(
  request: RelayRequest,
  bodies: BodyReader,
): Promise<StartMembers | undefined> {
  try {
    const { text, isCut } = await bodies.read(request.raw, MAX_BODY_BYTES);
    if (isCut) log.debug('start_body_cut', { requestId: request.id, readBytes: MAX_BODY_BYTES });
    return parseMembers(text);
  } catch {
    return undefined;
  }
}

/** The device's own challenge, if it sends one. */
function readChallenge(
  challenge: unknown,
  provider: Provider,
  blind: BlindPolicy,
): { readonly ok: true; readonly value: string | undefined } | Refused {
  if (challenge === undefined) {
    return blind === 'always' ? refused('challenge_required') : { ok: true, value: undefined };
  }
  if (typeof challenge !== 'string' || !CHALLENGE.test(challenge)) {
    return refused('invalid_challenge');
  }
  const isTaken = blind !== 'never' && provider.takesChallenge;
  return isTaken ? { ok: true, value: challenge } : refused('challenge_not_supported');
}

/** Lines of one request. 512 bytes hold 80 members. */
const MAX_LOGGED_MEMBERS = 8;

/** A longer name could be a secret: the relay's own have 24 characters and more. */
const LOGGABLE_NAME = /^[a-z_]\w{0,22}$/i;

/** For app developers. Never logs a value. */
function logIgnoredMembers(request: RelayRequest, asked: StartMembers): void {
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

/** With a user code it has three more members. */
function describeStarted(
  service: string,
  { pollSecret, browserState, userCode }: SessionSecrets,
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
