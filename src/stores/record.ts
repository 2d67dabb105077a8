/**
 * A session as text, in every store that others may read: its version, when it started and
 * expires, and the rest as JSON. Its secrets are sealed (sealed-vault.ts). Anybody who can write to the
 * store may have put anything there, so every member is read by name and checked, a sealed one when
 * it is opened. docs/sealing.md "Records".
 */
import type { EndOutcome, NewSession, Session } from '../sign-ins/session.ts';

/**
 * A relay refuses a record of a greater version, because old and new relays share a store during
 * an update (docs/upgrading.md).
 */
export const RECORD_VERSION = 1;

/** The JSON of a record. Its times are separate, because Redis adds them by its own clock. */
export function writeBody(session: Session | NewSession): string {
  return JSON.stringify({ ...session, startedAtMs: undefined, expiresAtMs: undefined });
}

export const writeRecord = (session: Session): string =>
  `${RECORD_VERSION} ${session.startedAtMs} ${session.expiresAtMs} ${writeBody(session)}`;

/** Undefined if it was written by a newer relay, or is malformed. */
export function readRecord(text: string): Session | undefined {
  const [version, startedAtMs, expiresAtMs] = text.split(' ', 3).map(Number);
  if (!isTime(version) || version > RECORD_VERSION) return undefined;
  const body = text.slice(`${version} ${startedAtMs} ${expiresAtMs} `.length);
  return readBody(body, startedAtMs, expiresAtMs);
}

export function readBody(text: string, startedAtMs: unknown, expiresAtMs: unknown) {
  const json = parse(text);
  const common = readCommon(json, startedAtMs, expiresAtMs);
  return common && readState(common, json);
}

type Json = Readonly<Record<string, unknown>>;

function readCommon(json: Json, startedAtMs: unknown, expiresAtMs: unknown) {
  const { signIn, service, redeliveryMs, opening, keyMaterial } = json;
  const { link, poll, code } = Object(json.ids) as Json;
  const isGood =
    isTime(startedAtMs) &&
    isTime(expiresAtMs) &&
    [link, poll, code ?? '', signIn, service].every((each) => typeof each === 'string') &&
    isTime(redeliveryMs ?? 0) &&
    OPENINGS.includes(opening);
  if (!isGood) return undefined;
  const ids = { link, poll, code };
  const rest = { redeliveryMs, opening, keyMaterial };
  return { ids, signIn, service, startedAtMs, expiresAtMs, ...rest };
}

function readState(common: object, json: Json): Session | undefined {
  const { state, leaseEndsAtMs, result, completedAtMs, redeliveredUntilMs } = json;
  const make = (members: object) => ({ ...common, state, ...members }) as Session;
  if (state === 'pending') return make({ delivery: json.delivery, deviceName: json.deviceName });
  if (state === 'exchanging') return isTime(leaseEndsAtMs) ? make({ leaseEndsAtMs }) : undefined;
  if (state === 'cancelled') return make({});
  const outcome = OUTCOMES.find((each) => each === json.outcome);
  if (outcome === undefined) return undefined;
  if (state === 'ended') return make({ outcome });
  if (state === 'completed' && isTime(completedAtMs)) {
    return make({ outcome, result, completedAtMs });
  }
  return state === 'delivered' && isTime(redeliveredUntilMs)
    ? make({ outcome, result, redeliveredUntilMs })
    : undefined;
}

const OPENINGS: readonly unknown[] = ['none', 'unreported', 'reported'];
const OUTCOMES: readonly EndOutcome[] = ['signed_in', 'access_denied', 'failed'];

const isTime = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

function parse(text: string): Json {
  try {
    return Object(JSON.parse(text)) as Json;
  } catch {
    return {};
  }
}
