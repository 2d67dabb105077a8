/** Requests that are answered at once: how they are sent, and what the model says of them. */
import { acknowledge } from '../kit/device.ts';
import type { TestService } from '../kit/service.ts';
import { callback, decide } from '../kit/user.ts';
import type { Answer, Answered, Model, ModelSession } from './model.ts';

export interface Device {
  readonly model: ModelSession;
  readonly session: string;
  readonly state: string;
  readonly link: string;
}

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

/** Sends a poll that waits for `waitSeconds`, and returns its answer. */
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

function fromProvider(device: Device, query: string, error: string): ModelRequest {
  return {
    ask: (service) => pageOf(comeBack(service, device, query), '404', '503'),
    apply(model) {
      const answered = model.complete(device.model, error, 'pending');
      return { answer: answered ? 'page' : '404', answered };
    },
  };
}

/** One request with one answer at once. Any two of them may be in progress at the same time. */
const CREATE = {
  open: ({ model: session, state }) => ({
    ask: (service) => statusOf(service.ask(`/auth/${session.service}?state=${state}`)),
    apply: (model) => ({
      answer: model.isPending(session) ? '302' : '404',
      answered: model.open(session),
    }),
  }),
  continue: ({ model: session, link }) => ({
    ask: (service) => pageOf(decide(service, link), '303', '503'),
    apply: (model) => ({
      answer: model.isPending(session) ? '303' : 'page',
      answered: model.open(session),
    }),
  }),
  decline: ({ model: session, link }) => ({
    ask: (service) => pageOf(decide(service, link, 'decline'), '503'),
    apply: (model) => ({
      answer: 'page',
      answered: model.complete(session, 'access_denied', 'pending'),
    }),
  }),
  'code comes back at another service': ({ model: session, state }) => ({
    ask: (service) => {
      const other = session.service === 'mal' ? 'anilist' : 'mal';
      return pageOf(callback(service, state, 'code=c', other), '404', '503');
    },
    apply: () => ({ answer: '404' }),
  }),
  'error comes back': (device) =>
    fromProvider(device, 'error=server_error', 'authorization_failed'),
  'nothing comes back': (device) => fromProvider(device, 'code=', 'missing_code'),
  'poll once': (device) => ({
    ask: (service) => pollFor(service, device),
    apply: (model) => ({ answer: model.poll(device.model, 0, false) as Answer }),
  }),
  acknowledge: ({ model: session, session: secret }) => ({
    ask: (service) => statusOf(acknowledge(service, secret)),
    apply: (model) => ({ answer: String(model.acknowledge(session)) }),
  }),
  cancel: ({ model: session, session: secret }) => ({
    ask: (service) => statusOf(service.ask(`/auth/result?session=${secret}&cancel=1`)),
    apply(model) {
      const { status, answered } = model.cancel(session);
      return { answer: String(status), answered };
    },
  }),
  'poll with the state of the link': (device) => ({
    ask: (service) => pollFor(service, { ...device, session: device.state }),
    apply: () => ({ answer: '410' }),
  }),
} satisfies Readonly<Record<string, (device: Device) => ModelRequest>>;

export type RequestName = keyof typeof CREATE;
export const REQUESTS = Object.keys(CREATE) as RequestName[];

export const createRequest = (name: RequestName, device: Device): ModelRequest =>
  CREATE[name](device);

async function describeAnswer(response: Response): Promise<Answer> {
  if (response.status !== 200) return String(response.status) as Answer;
  const { progress, accessToken, error } = (await response.json()) as {
    readonly [Name in 'progress' | 'accessToken' | 'error']?: string;
  };
  return progress === undefined ? `200 ${accessToken ?? error}` : 'opened';
}
