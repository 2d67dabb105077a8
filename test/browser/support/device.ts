/** The device of the tests. It has its poll open before the person has the link, as devices do. */
import { plantSecret } from '../../support/secrets.ts';
import { poll, startSession, startSessionWithCode } from '../../support/wire.ts';
import type { Service, Stage } from './stage.ts';

export interface Result {
  readonly status: number;
  readonly accessToken?: string;
  readonly refreshToken?: string;
  readonly expiresIn?: number;
  readonly error?: string;
}

export interface Device {
  /** For the person. */
  readonly url: string;
  readonly state: string;
  poll(): Promise<Result>;
}

/** A device that has asked for a code, too. */
export interface DeviceWithCode extends Device {
  /** `XXXX-XXXX`. */
  readonly userCode: string;
  /** The short one. */
  readonly link: string;
}

export async function startDevice({ relay }: Stage, service: Service): Promise<Device> {
  const { session, state, url } = await startSession(relay.baseUrl, service);
  return { url, state, poll: async () => readResult(await poll(relay.baseUrl, session)) };
}

export async function startDeviceWithCode(
  { relay }: Stage,
  service: Service,
  device?: string,
): Promise<DeviceWithCode> {
  const { session, ...started } = await startSessionWithCode(relay.baseUrl, service, { device });
  return { ...started, poll: async () => readResult(await poll(relay.baseUrl, session)) };
}

async function readResult(response: Response): Promise<Result> {
  const { status } = response;
  if (status !== 200) return { status };
  const result = (await response.json()) as Omit<Result, 'status'>;
  plantSecret(result.accessToken ?? '');
  plantSecret(result.refreshToken ?? '');
  return { status, ...result };
}
