/** A device and its person at the door of RFC 8628. */

import type { Bench } from '../engine/case.ts';
import { equal, holds, matches, present } from '../engine/expect.ts';
import { formCall } from './addresses.ts';
import { expectStatus } from './answers.ts';
import type { Answer, Call } from './http.ts';
import type { Session } from './ledger.ts';
import type { Parameters } from './target.ts';

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

export function devicePath(service: string): string {
  return `/oauth2/${service}/device_authorization`;
}

export function tokenPath(service: string): string {
  return `/oauth2/${service}/token`;
}

export interface Granting {
  /** Of the ledger: `secret` is the device code, and the state is not known yet. */
  readonly session: Session & { readonly userCode: string };
  readonly fields: Readonly<Record<string, unknown>>;
  readonly answer: Answer;
}

/** A device authorization that must be accepted. RFC 8628 §3.1. */
export async function beginGrant(
  { target, options }: Bench,
  { service = options.serviceA, ...call }: Partial<Call> & { readonly service?: string } = {},
): Promise<Granting> {
  const from = await target.sources.next();
  const path = devicePath(service);
  const form = formCall(path, { client_id: 'conformance-device' });
  const answer = await target.send({ ...form, from, ...call });
  const fields = readOAuth(answer, 200);
  const { device_code, user_code, expires_in } = fields;
  const session = {
    service,
    secret: String(device_code),
    state: '',
    userCode: String(user_code),
    url: String(fields.verification_uri_complete),
    expiresIn: Number(expires_in),
    from,
    mayStay: true,
  };
  target.keep(session);
  return { session, fields, answer };
}

/** One poll. RFC 8628 §3.4. */
export async function pollGrant(
  { target }: Bench,
  { service, secret }: Session,
  headers: Parameters = {},
): Promise<Answer> {
  const call = formCall(tokenPath(service), { grant_type: DEVICE_CODE, device_code: secret });
  const timeoutMs = 75_000;
  const answer = await target.send({
    ...call,
    timeoutMs,
    headers: { ...call.headers, ...headers },
  });
  if (answer.body.includes('"expired_token"')) target.forget(secret);
  return answer;
}

/** The person goes on from the page of the code: the session with its browser state. */
export async function goOn({ target }: Bench, session: Session): Promise<Session> {
  const answer = await target.decide(session, 'continue');
  expectStatus(answer, 303);
  const location = new URL(present('Location', answer.headers.location));
  const state = present('state', location.searchParams.get('state') ?? undefined);
  const opened = { ...session, state };
  target.keep(opened);
  return opened;
}

/** By a client that has its burst: refreshes have a limit of their own. */
export async function refresh(
  { target }: Bench,
  service: string,
  refreshToken: string,
  also: Parameters = {},
): Promise<Answer> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...also };
  const from = await target.sources.next();
  return target.send({ ...formCall(tokenPath(service), form), from });
}

/** JSON that nobody may keep. RFC 6749 §5.1. */
export function readOAuth(answer: Answer, status: number): Readonly<Record<string, unknown>> {
  expectStatus(answer, status);
  matches('Content-Type', answer.headers['content-type'], /^application\/json\s*(;|$)/i);
  matches('Cache-Control', answer.headers['cache-control'], /\bno-store\b/);
  const fields: unknown = JSON.parse(answer.body);
  holds('body', typeof fields === 'object' && fields !== null, 'a JSON object', answer.body);
  return { ...(fields as object) };
}

/** Of what RFC 6749 §5.2 has in a description. */
const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

/** An error as a stock client reads it: always 400, without a challenge that would come before it. */
export function expectOAuthError(answer: Answer, error: string | RegExp, status = 400): void {
  const fields = readOAuth(answer, status);
  if (typeof error === 'string') equal('error', fields.error, error);
  else matches('error', String(fields.error), error);
  matches('error_description', String(fields.error_description ?? ''), DESCRIPTION);
  equal('WWW-Authenticate', answer.headers['www-authenticate'], undefined);
}
