/** A device at the door of RFC 8628, and the person it waits for, in a world of fake time. */
import type { Fetch } from '../../../src/providers/token-endpoint.ts';
import { createTestService, type SETTINGS, type TestParts } from '../../support/test-service.ts';

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export function createDeviceDoor(
  overrides: Partial<typeof SETTINGS> = {},
  fetch?: Fetch,
  parts: TestParts = {},
) {
  const service = createTestService(overrides, fetch, parts);
  let clients = 0;

  /** By a client that nobody has seen before, so that no rate limit bites. */
  function post(path: string, form: Record<string, string>, init: RequestInit = {}) {
    clients += 1;
    const peer = `10.9.${clients >> 8}.${clients & 255}`;
    const body = new URLSearchParams(form);
    return service.send(path, { method: 'POST', body, ...init }, peer);
  }

  async function begin(name = 'mal', form: Record<string, string> = {}) {
    const response = await post(`/oauth2/${name}/device_authorization`, form);
    const answer = (await response.json()) as DeviceAuthorization;
    const userCode = answer.user_code.replace('-', '');
    const found = await service.store.find({ userCode }, service.clock.now());
    return { ...answer, response, state: found?.browserState ?? '' };
  }

  async function token(
    form: Record<string, string>,
    init: RequestInit = {},
    name = 'mal',
  ): Promise<TokenAnswer> {
    const response = await post(`/oauth2/${name}/token`, form, init);
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body };
  }

  const poll = (deviceCode: string, init: RequestInit = {}) =>
    token({ grant_type: DEVICE_CODE_GRANT, device_code: deviceCode }, init);

  return { ...service, post, begin, token, poll };
}
