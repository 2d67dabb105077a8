/** `POST /auth/start`: a device starts a sign-in. docs/protocol.md §2. */
import { REDELIVERY_MS } from '../../limits.ts';
import { log } from '../../log.ts';
import { cleanName } from '../../pages/shown-name.ts';
import type { BlindPolicy } from '../../providers/config.ts';
import type { Provider } from '../../providers/provider.ts';
import {
  createVerifier,
  formatUserCode,
  isChallenge,
  type RandomBytes,
  type SessionSecrets,
} from '../../sign-ins/secrets.ts';
import type { Delivery } from '../../sign-ins/session.ts';
import type { Handler } from '../app.ts';
import type { Dependencies } from '../dependencies.ts';
import { linkOf, type RelayRequest, shortLinkOf } from '../request.ts';
import { jsonResponse, type Refusal, refuse } from '../responses.ts';

/** How much of the body of a start is read. A longer body is cut there. */
export const MAX_START_BYTES = 512;

/** The members of a start and their types. */
const MEMBERS = {
  service: 'string',
  code: 'boolean',
  device: 'string',
  ack: 'boolean',
  details: 'boolean',
  challenge: 'string',
} as const;

export type StartDependencies = Pick<
  Dependencies,
  | 'signIns'
  | 'providers'
  | 'admission'
  | 'bodies'
  | 'signInLog'
  | 'randomBytes'
  | 'blind'
  | 'baseUrl'
  | 'sessionSeconds'
>;

/** Refuses in the order of docs/protocol.md §2. A start that is refused later costs a token too. */
export function createStart(dependencies: StartDependencies): Handler {
  const { signIns, providers, admission, bodies, signInLog, randomBytes, blind } = dependencies;
  return async (request) => {
    const admitted = await admission.admitStart(request);
    if (!admitted.ok) return admitted;
    const { members: asked, isTruncated } = await bodies.readMembers(request.raw, MAX_START_BYTES);
    if (isTruncated) {
      log.debug('start_body_cut', { requestId: request.id, readBytes: MAX_START_BYTES });
    }
    if (asked === undefined) return refuse('invalid_json');
    if (log.isEnabledFor('debug')) logIgnoredMembers(request, asked);
    // A member of a wrong type counts as missing, except the challenge: the relay would see
    // tokens that the device wanted to hide from it.
    const service = typeof asked.service === 'string' ? asked.service : '';
    const found = providers.find(service);
    if (!found.ok) return found;
    const { provider } = found;
    const challenge = readChallenge(asked.challenge, provider, blind);
    if (!challenge.ok) return challenge;
    const delivery: Delivery =
      challenge.value === undefined
        ? tokensOf(provider, asked.details === true, randomBytes)
        : { kind: 'code', challenge: challenge.value };
    const started = await signIns.start(service, {
      delivery,
      withUserCode: asked.code === true,
      deviceName: cleanName(asked.device),
      redeliveryMs: asked.ack === true ? REDELIVERY_MS : undefined,
    });
    signInLog.started(request, service, started);
    if (!started.ok) return started;
    const url = linkOf(dependencies.baseUrl, service, started.secrets.browserState);
    return jsonResponse(describeStarted(started.secrets, url, dependencies));
  };
}

/** The relay exchanges the code, with a new verifier if the provider has PKCE. */
export function tokensOf(provider: Provider, details: boolean, randomBytes: RandomBytes): Delivery {
  const verifier = provider.usesPkce ? createVerifier(randomBytes) : undefined;
  return { kind: 'tokens', verifier, ...(details && { details }) };
}

/** The device's own challenge, if it sends one. */
function readChallenge(
  challenge: unknown,
  provider: Provider,
  blind: BlindPolicy,
): { readonly ok: true; readonly value: string | undefined } | Refusal {
  if (challenge === undefined) {
    return blind === 'always' ? refuse('challenge_required') : { ok: true, value: undefined };
  }
  if (!isChallenge(challenge)) return refuse('invalid_challenge');
  const isTaken = blind !== 'never' && provider.takesChallenge;
  return isTaken ? { ok: true, value: challenge } : refuse('challenge_not_supported');
}

/** Lines of one request. 512 bytes hold 80 members. */
const MAX_LOGGED_MEMBERS = 8;

/** A longer name could be a secret: the relay's own have 24 characters and more. */
const LOGGABLE_NAME = /^[a-z_]\w{0,22}$/i;

/** Tells app developers. Never logs a value. */
function logIgnoredMembers(request: RelayRequest, asked: Readonly<Record<string, unknown>>): void {
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
export function describeStarted(
  { pollSecret, userCode }: SessionSecrets,
  url: string,
  { baseUrl, sessionSeconds }: Pick<StartDependencies, 'baseUrl' | 'sessionSeconds'>,
): object {
  if (userCode === undefined) return { session: pollSecret, url, expiresIn: sessionSeconds };
  return {
    session: pollSecret,
    url,
    expiresIn: sessionSeconds,
    userCode: formatUserCode(userCode),
    link: shortLinkOf(baseUrl, userCode),
    qr: `${baseUrl}/qr/${formatUserCode(userCode)}.png`,
  };
}
