/** Requests that are answered at once: how they are sent, and what the model says of them. */
import { acknowledge } from '../kit/device.ts';
import type { TestService } from '../kit/service.ts';
import { callback, decide } from '../kit/user.ts';
import type { REQUESTS } from './commands.ts';
import type { Answer, Answered, Model, ModelSession } from './model.ts';

export interface Device {
  readonly model: ModelSession;
  readonly session: string;
  readonly state: string;
  readonly link: string;
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

/** What a poll that waits so long is answered. */
export function pollFor(
  service: TestService,
  { session }: Device,
  waitSeconds = 0,
  { wantsProgress = false, signal }: { wantsProgress?: boolean; signal?: AbortSignal } = {},
): Promise<Answer> {
  const init = signal === undefined ? {} : { signal };
  const query = `session=${session}&wait=${waitSeconds}${wantsProgress ? '&progress=1' : ''}`;
  return service.ask(`/auth/result?${query}`, init).then(describeAnswer);
}

/** The provider redirects the browser back. */
export const comeBack = (service: TestService, { model, state }: Device, query: string) =>
  callback(service, state, query, model.service);

export function createRequest(name: RequestName, device: Device): ModelRequest {
  const { model: session, state, link } = device;
  const fromProvider = (query: string, error: string): ModelRequest => ({
    ask: (service) => pageOf(comeBack(service, device, query), '404', '503'),
    apply(model) {
      const answered = model.complete(session, error, 'pending');
      return { answer: answered ? 'page' : '404', answered };
    },
  });
  switch (name) {
    case 'open':
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

async function describeAnswer(response: Response): Promise<Answer> {
  if (response.status !== 200) return String(response.status) as Answer;
  const { progress, accessToken, error } = (await response.json()) as {
    readonly [Name in 'progress' | 'accessToken' | 'error']?: string;
  };
  return progress === undefined ? `200 ${accessToken ?? error}` : 'opened';
}
