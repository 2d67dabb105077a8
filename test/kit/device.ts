/** What a device does over the wire: it starts a sign-in and polls (docs/protocol.md), or uses the device grant (RFC 8628). */
import { plantIfLong } from './secrets.ts';

/** A relay, however it is reached: a process, a service in this process, or one behind a proxy. */
export interface Target {
  /** Redirects are not followed. `peer` is the client's address, where there is no socket. */
  ask(path: string, init?: RequestInit, peer?: string): Promise<Response>;
}

/** Has the form of a poll secret, so that the relay looks it up; no session has it. */
export const UNKNOWN_SECRET = 'A'.repeat(24);

export interface Started {
  readonly session: string;
  readonly state: string;
  readonly url: string;
  /** `XXXX-XXXX`; empty if the device asked for no code. */
  readonly userCode: string;
  /** The path of the short link. */
  readonly link: string;
  /** The whole answer. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export function startRequest(service = 'mal', asked: object = {}): RequestInit {
  return { method: 'POST', body: JSON.stringify({ service, ...asked }) };
}

/** Starts a sign-in; throws if that is refused. */
export async function start(
  target: Target,
  service = 'mal',
  asked: object = {},
  basePath = '',
): Promise<Started> {
  const response = await target.ask(`${basePath}/auth/start`, startRequest(service, asked));
  if (response.status !== 200) {
    throw new Error(`start: ${response.status} ${await response.text()}`);
  }
  const answer = (await response.json()) as Record<string, string>;
  const { session = '', url = '', userCode = '', link } = answer;
  const state = new URL(url).searchParams.get('state') ?? '';
  plantIfLong(session);
  plantIfLong(state);
  return { session, state, url, userCode, link: link ? new URL(link).pathname : '', answer };
}

/** Starts a sign-in with a user code. */
export const startWithCode = (target: Target, asked: object = {}, service = 'mal') =>
  start(target, service, { code: true, ...asked });

export function poll(target: Target, session: string, init?: RequestInit): Promise<Response> {
  return target.ask(`/auth/result?session=${session}`, init);
}

/** A poll that is not held. */
export const pollOnce = (target: Target, session: string) =>
  target.ask(`/auth/result?session=${session}&wait=0`);

export const acknowledge = (target: Target, session: string) =>
  target.ask(`/auth/result?session=${session}&ack=1`);

export type Result = Readonly<Record<string, unknown>> | 'gone';

/** Polls one target after the other until there is a result. */
export async function pollUntilDone(targets: readonly Target[], session: string): Promise<Result> {
  for (let turn = 0; ; turn += 1) {
    const target = targets[turn % targets.length];
    if (target === undefined) throw new Error('no target');
    const response = await poll(target, session);
    if (response.status === 200) return (await response.json()) as Result;
    if (response.status === 410) return 'gone';
    if (response.status !== 204) throw new Error(`poll: ${response.status}`);
  }
}

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

type Form = Readonly<Record<string, string>>;

/** `text` is the body as it was received. */
export async function postForm(target: Target, path: string, form: Form, init: RequestInit = {}) {
  const body = new URLSearchParams({ ...form });
  const response = await target.ask(path, { method: 'POST', body, ...init });
  const { status, headers } = response;
  const text = await response.text();
  const parsed = JSON.parse(text) as Record<string, unknown>;
  for (const name of ['device_code', 'access_token', 'refresh_token', 'id_token']) {
    const value = parsed[name];
    if (typeof value === 'string') plantIfLong(value);
  }
  return { status, headers, text, body: parsed };
}

export const requestAuthorization = (
  target: Target,
  form: Form = {},
  init?: RequestInit,
  service = 'mal',
) => postForm(target, `/oauth2/${service}/device_authorization`, form, init);

/** RFC 8628 §3.1; throws if it is refused. `link` is the path of the verification URI that holds the code. */
export async function authorizeDevice(target: Target, form: Form = {}, service = 'mal') {
  const answer = await requestAuthorization(target, form, {}, service);
  if (answer.status !== 200) throw new Error(`device authorization: ${answer.text}`);
  const authorization = answer.body as object as DeviceAuthorization;
  const link = new URL(authorization.verification_uri_complete).pathname;
  return { ...authorization, deviceCode: authorization.device_code, link, text: answer.text };
}

export const requestToken = (target: Target, form: Form, init?: RequestInit, service = 'mal') =>
  postForm(target, `/oauth2/${service}/token`, form, init);

/** RFC 8628 §3.4. */
export const pollToken = (
  target: Target,
  deviceCode: string,
  form: Form = {},
  init?: RequestInit,
  service = 'mal',
) =>
  requestToken(
    target,
    { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode, ...form },
    init,
    service,
  );

/** RFC 6749 §6. */
export const refresh = (target: Target, refreshToken: string, form: Form = {}, service = 'mal') =>
  requestToken(
    target,
    { grant_type: 'refresh_token', refresh_token: refreshToken, ...form },
    {},
    service,
  );
