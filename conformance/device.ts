/** What a device does: it starts sign-ins and polls, at `/auth/*` and with the device grant (RFC 8628). */

import { createHash, randomBytes } from 'node:crypto';
import * as expect from './answers.ts';
import { equal, present } from './expect.ts';
import { type Answer, type Call, type ClientAddress, formCall } from './http.ts';
import type { Reply } from './mock-provider.ts';
import { SERVICE_A } from './options.ts';
import { type Parameters, POLL_TIMEOUT_MS, type Session } from './relay.ts';
import type { Kit } from './runner.ts';

/** A session that is completed with tokens and not yet claimed. */
export async function signIn({ relay, provider }: Kit, service?: string) {
  const session = await relay.start(service === undefined ? {} : { service });
  const { code, tokens } = provider.issueCode();
  const page = await relay.callback(session, { code });
  expect.successPage(page);
  return { session, code, tokens, page };
}

/** A session of service A whose code gets this reply at the token endpoint. */
export async function exchange({ relay, provider }: Kit, reply: Reply) {
  const session = await relay.start();
  const code = provider.issue(reply);
  const page = await relay.callback(session, { code });
  return { session, code, page };
}

/** The next poll is answered with exactly these fields. */
export async function expectResult({ relay }: Kit, session: Session, fields: object) {
  expect.json(await relay.poll(session), fields);
}

/** The session is still pending: a callback with a good code completes it. */
export async function expectSignsIn(kit: Kit, session: Session): Promise<void> {
  const { code, tokens } = kit.provider.issueCode();
  expect.successPage(await kit.relay.callback(session, { code }));
  await expectResult(kit, session, tokens);
}

/** How often the code or refresh token came to the token endpoint. */
export function expectRequests({ provider }: Kit, code: string, count: number): void {
  equal('requests at the token endpoint', provider.requests(code).length, count);
}

/** A text is sent as it is. Without `from`, from an address that has its whole burst. */
export async function postJson(
  { relay }: Kit,
  path: string,
  body: unknown,
  from?: ClientAddress,
): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const address = from ?? relay.nextAddress();
  return relay.send({ method: 'POST', path, body: text, from: address });
}

/** RFC 7636 §4.2. The verifier never leaves this function. */
export const makeChallenge = () =>
  createHash('sha256').update(randomBytes(48).toString('base64url')).digest('base64url');

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

export function devicePath(service: string): string {
  return `/oauth2/${service}/device_authorization`;
}

export function tokenPath(service: string): string {
  return `/oauth2/${service}/token`;
}

type GrantCall = Partial<Call> & { readonly service?: string };

/** A device authorization (RFC 8628 §3.1). The device code is the poll secret of its session. */
export async function requestGrant(
  { relay }: Kit,
  { service = SERVICE_A, ...call }: GrantCall = {},
) {
  const from = call.from ?? relay.nextAddress();
  const form = formCall(devicePath(service), { client_id: 'conformance-device', scope: 'all' });
  const answer = await relay.send({ ...form, ...call, from });
  if (answer.status !== 200) return { answer };
  const fields = expect.oauth(answer, 200);
  const session = {
    service,
    pollSecret: String(fields.device_code),
    state: '',
    userCode: String(fields.user_code),
    url: String(fields.verification_uri_complete),
    from,
  };
  relay.keep(session);
  return { answer, session };
}

/** One that must be accepted. */
export async function startGrant(kit: Kit, call: GrantCall = {}) {
  const { answer, session } = await requestGrant(kit, call);
  const fields = expect.oauth(answer, 200);
  return { session: present('a session', session), fields };
}

/** One poll (RFC 8628 §3.4). */
export async function pollGrant(
  { relay }: Kit,
  session: Session,
  headers: Parameters = {},
): Promise<Answer> {
  const form = { grant_type: DEVICE_CODE, device_code: session.pollSecret };
  const call = formCall(tokenPath(session.service), form);
  return relay.send({
    ...call,
    timeoutMs: POLL_TIMEOUT_MS,
    headers: { ...call.headers, ...headers },
  });
}
