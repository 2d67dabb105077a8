/** What a device does: it starts sign-ins and polls, at `/auth/*` and with the device grant (RFC 8628). */

import { createHash, randomBytes } from 'node:crypto';
import * as expect from './answers.ts';
import { times } from './async.ts';
import { between, equal, Mismatch, present } from './expect.ts';
import { type Answer, type Call, type ClientAddress, formCall } from './http.ts';
import type { Reply } from './mock-provider.ts';
import { SERVICE_A } from './options.ts';
import type { Parameters, Session } from './relay.ts';
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

const MAX_BODY_BYTES = 16_384;

/** Bodies of refreshes and revocations that are refused: no JSON, too much of it, or no service. */
export async function expectRefusedBodies(kit: Kit, path: string, tokens: object): Promise<void> {
  for (const body of ['{', '', `{}${' '.repeat(MAX_BODY_BYTES)}`]) {
    expect.text(await postJson(kit, path, body), 400, 'Invalid JSON');
  }
  for (const body of ['null', tokens, { service: 'nosuch', ...tokens }]) {
    expect.text(await postJson(kit, path, body), 400, 'Unknown service');
  }
}

/** RFC 7636 §4.2. The verifier never leaves this function. */
export const makeChallenge = () =>
  createHash('sha256').update(randomBytes(48).toString('base64url')).digest('base64url');

/** Far more than a burst, even if the bucket fills a little meanwhile. */
const TRIES = 12;

/** A client address that has no start left, and the answer that said so. */
async function exhaust({ relay }: Kit) {
  const from = relay.nextAddress();
  // All at once: on a slow machine a bucket fills as fast as one start follows another.
  const starts = times(TRIES, () => relay.postStart({ service: SERVICE_A }, from));
  const answers = await Promise.all(starts);
  const answer = answers.find(({ status }) => status === 429);
  if (answer !== undefined) return { from, answer };
  throw new Mismatch(`${TRIES} starts at once from one address`, 'a 429', 'none');
}

const EXHAUSTED_TRIES = 3;

/**
 * The answer to a request from an exhausted address. On a busy machine the bucket may
 * have refilled before the request arrives: then another address is exhausted.
 */
export async function askExhausted(
  kit: Kit,
  refusal: number,
  ask: (from: ClientAddress) => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const { from } = await exhaust(kit);
    const answer = await ask(from);
    if (answer.status === refusal || tries === EXHAUSTED_TRIES) return answer;
  }
}

/** How many refreshes or revocations one address may send at once. */
const OWN_BURST = 10;

/**
 * Refreshes and revocations have a limit of their own for each address. Returns what
 * was refused of twice as many requests as it allows.
 */
export async function expectOwnLimit(
  { relay }: Kit,
  ask: (from: ClientAddress) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const from = relay.nextAddress();
  // All at once: on a slow machine a bucket fills as fast as one request follows another.
  const answers = await Promise.all(times(2 * OWN_BURST, () => ask(from)));
  const refused = answers.filter(({ status }) => status !== 200);
  between('refused', refused.length, 1, OWN_BURST);
  for (const answer of refused) expect.retryAfter(answer);
  await relay.start({ from });
  return refused;
}

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

/** Longer than the longest hold that a device may ask for. */
export const HELD_MS = 75_000;

/** One poll (RFC 8628 §3.4). */
export async function pollGrant(
  { relay }: Kit,
  session: Session,
  headers: Parameters = {},
): Promise<Answer> {
  const form = { grant_type: DEVICE_CODE, device_code: session.pollSecret };
  const call = formCall(tokenPath(session.service), form);
  return relay.send({ ...call, timeoutMs: HELD_MS, headers: { ...call.headers, ...headers } });
}

/** A refresh, from an unused client address unless one is named: refreshes are limited too. */
export async function refreshGrant(
  { relay }: Kit,
  service: string,
  refreshToken: string,
  { from, ...parameters }: { from?: ClientAddress; scope?: string; client_id?: string } = {},
): Promise<Answer> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, ...parameters };
  const address = from ?? relay.nextAddress();
  return relay.send({ ...formCall(tokenPath(service), form), from: address });
}
