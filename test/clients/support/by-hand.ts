/** A device that has no library: each request is what the test says. */
import { plantSecret } from '../../support/secrets.ts';

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

export interface Begun {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** As it came. */
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Form = Readonly<Record<string, string>>;

export async function post(address: string, form: Form, init: RequestInit = {}): Promise<Answer> {
  const body = new URLSearchParams(form);
  const response = await fetch(address, { method: 'POST', body, redirect: 'manual', ...init });
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, text, body: plantTokens(JSON.parse(text)) };
}

export async function begin(issuer: string, form: Form = {}, init: RequestInit = {}) {
  const answer = await post(`${issuer}/device_authorization`, form, init);
  if (answer.status !== 200) throw new Error(`device_authorization: ${answer.text}`);
  const begun = answer.body as object as Begun;
  plantSecret(begun.device_code);
  return { ...begun, text: answer.text };
}

export function poll(issuer: string, { device_code }: Begun, form: Form = {}, init?: RequestInit) {
  return post(`${issuer}/token`, { grant_type: DEVICE_CODE, device_code, ...form }, init);
}

export function refresh(issuer: string, refreshToken: string): Promise<Answer> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  return post(`${issuer}/token`, form);
}

function plantTokens(body: Record<string, unknown>): Record<string, unknown> {
  for (const name of ['access_token', 'refresh_token', 'id_token']) {
    const value = body[name];
    if (typeof value === 'string') plantSecret(value);
  }
  return body;
}
