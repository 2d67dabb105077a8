/** Requests that are answered at once: how they are sent, and what the model says of them. */
import { acknowledge, pollToken } from '../kit/device.ts';
import type { TestService } from '../kit/service.ts';
import { callback, decide } from '../kit/user.ts';
import type { REQUESTS } from './commands.ts';
import type { Answer, Answered, Model, ModelSession } from './model.ts';

export interface Device {
  readonly model: ModelSession;
  readonly session: string;
  readonly state: string;
  readonly link: string;
  /** In an open sign-in, the cookie of the browser in which the user has continued. */
  readonly cookie?: string;
}

export type RequestName = (typeof REQUESTS)[number];

interface ModelRequest {
  /** A status, or what matters of the page. */
  ask(service: TestService): Promise<string>;
  apply(model: Model): { readonly answer: string; readonly answered?: Answered | undefined };
}

const statusOf = async (asking: Promise<Response>) => String((await asking).status);
/** Checks only that a page has one of these statuses. */
async function pageOf(asking: Promise<Response>, ...statuses: readonly string[]) {
  const status = await statusOf(asking);
  return statuses.includes(status) ? status : 'page';
}

/** The device's request without waiting, as whatever it is a client of. */
export function pollFor(
  service: TestService,
  { session, model }: Device,
  waitSeconds = 0,
  { wantsProgress = false, signal }: { wantsProgress?: boolean; signal?: AbortSignal } = {},
): Promise<Answer> {
  const init = signal === undefined ? {} : { signal };
  if (model.isGrant) return pollGrant(service, { session, model }, waitSeconds, init);
  const query = `session=${session}&wait=${waitSeconds}${wantsProgress ? '&progress=1' : ''}`;
  return service.ask(`/auth/result?${query}`, init).then(describeAnswer);
}

/** The provider redirects the browser back. */
export function comeBack(
  service: TestService,
  { model, state, cookie }: Device,
  query: string,
): Promise<Response> {
  if (cookie === undefined) return callback(service, state, query, model.service);
  const headers = { Cookie: cookie };
  return service.ask(`/open/callback?state=${state}&${query}`, { headers });
}

export function createRequest(name: RequestName, device: Device): ModelRequest {
  const { model: session, state, link } = device;
  const fromProvider = (query: string, error: string): ModelRequest => ({
    // A browser with the cookie sees how the sign-in ended, as long as that is known.
    ask: (service) =>
      pageOf(comeBack(service, device, query), ...(device.cookie ? ['503'] : ['404', '503'])),
    apply(model) {
      const answered = model.complete(session, error, 'pending');
      return { answer: answered || device.cookie ? 'page' : '404', answered };
    },
  });
  switch (name) {
    case 'open':
      // Always the page that asks, and nothing changes.
      if (device.cookie !== undefined) {
        return {
          ask: (service) => pageOf(service.ask(link), '503'),
          apply: () => ({ answer: 'page' }),
        };
      }
      return {
        ask: (service) => statusOf(service.ask(`/auth/${session.service}?state=${state}`)),
        apply: (model) => ({
          answer: model.isPending(session) ? '302' : '404',
          answered: model.open(session),
        }),
      };
    case 'continue':
      return {
        ask: (service) => pageOf(decide(service, link), '303', '503'),
        apply: (model) => ({
          answer: model.isPending(session) ? '303' : 'page',
          answered: model.open(session),
        }),
      };
    case 'decline':
      return {
        ask: (service) => pageOf(decide(service, link, 'decline'), '503'),
        apply: (model) => ({
          answer: 'page',
          answered: model.complete(session, 'access_denied', 'pending'),
        }),
      };
    case 'error comes back':
      return fromProvider('error=server_error', 'authorization_failed');
    case 'nothing comes back':
      return fromProvider('code=', 'missing_code');
    case 'code comes back at another service': {
      const other = session.service === 'mal' ? 'anilist' : 'mal';
      return {
        ask: (service) => pageOf(callback(service, state, 'code=c', other), '404', '503'),
        apply: () => ({ answer: '404' }),
      };
    }
    case 'poll once':
      return {
        ask: (service) => pollFor(service, device),
        apply: (model) => ({ answer: model.poll(session, 0, false) as Answer }),
      };
    case 'poll with the state of the link':
      return {
        ask: async (service) =>
          describeAnswer(await service.ask(`/auth/result?session=${state}&wait=0`)),
        apply: () => ({ answer: '410' }),
      };
    case 'acknowledge':
      return {
        ask: (service) => statusOf(acknowledge(service, device.session)),
        apply: (model) => ({ answer: String(model.acknowledge(session)) }),
      };
    case 'cancel':
      return {
        ask: (service) => statusOf(service.ask(`/auth/result?session=${device.session}&cancel=1`)),
        apply(model) {
          const { status, answered } = model.cancel(session);
          return { answer: String(status), answered };
        },
      };
  }
}

async function pollGrant(
  service: TestService,
  { session, model }: Pick<Device, 'session' | 'model'>,
  waitSeconds: number,
  init: RequestInit,
): Promise<Answer> {
  const waiting = { headers: { Prefer: `wait=${waitSeconds}` }, ...init };
  const { body } = await pollToken(service, session, {}, waiting, model.service);
  const { error, access_token } = body as Record<string, string>;
  if (error === 'authorization_pending' || error === 'slow_down') return '204';
  return error === 'expired_token' ? '410' : `200 ${access_token ?? error}`;
}

async function describeAnswer(response: Response): Promise<Answer> {
  if (response.status !== 200) return String(response.status) as Answer;
  const {
    progress,
    accessToken,
    error,
    callback: query,
  } = (await response.json()) as {
    readonly [Name in 'progress' | 'accessToken' | 'error']?: string;
  } & { readonly callback?: { readonly code: string } };
  return progress === undefined ? `200 ${accessToken ?? error ?? query?.code}` : 'opened';
}
