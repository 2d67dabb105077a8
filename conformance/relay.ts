/** The relay under test, as a device and a browser see it: one method for each request. */

import * as expect from './answers.ts';
import { createSemaphore, sleep } from './async.ts';
import { present, Skip } from './expect.ts';
import {
  type Answer,
  type Call,
  type ClientAddress,
  FORM,
  formCall,
  type NextAddress,
  send as sendHttp,
} from './http.ts';
import { type Options, POLL_SECONDS, SERVICE_A } from './options.ts';
import type { Secrets } from './secrets.ts';

export interface Session {
  readonly service: string;
  readonly pollSecret: string;
  /** The browser state. Empty while only the user code is known. */
  readonly state: string;
  readonly userCode?: string;
  /** The link as the relay gave it. */
  readonly url: string;
  readonly from: ClientAddress;
}

/** What the relay clients of all cases share. */
interface Shared {
  readonly options: Options;
  readonly nextAddress: NextAddress;
  readonly secrets: Secrets;
}

export type Parameters = Readonly<Record<string, string>>;

/** The link as the suite reaches it. A case of its own checks `url`. */
export function linkPath({ service, state }: Session): string {
  return `/auth/${service}?${new URLSearchParams({ state })}`;
}

/** Where the provider sends the browser. */
export function callbackPath({ service, state }: Session, parameters: Parameters): string {
  return `/auth/${service}/callback?${new URLSearchParams({ ...parameters, state })}`;
}

export function resultPath({ pollSecret }: Session, parameters: Parameters = {}): string {
  return `/auth/result?${new URLSearchParams({ session: pollSecret, ...parameters })}`;
}

export function codePath(userCode: string): string {
  return `/L/${userCode}`;
}

/** What a browser sends with a form of the relay's own page. */
export const SAME_ORIGIN = { 'Sec-Fetch-Site': 'same-origin' };

/** 15 seconds after the longest hold a poll counts as unanswered. */
export const POLL_TIMEOUT_MS = (POLL_SECONDS + 15) * 1_000;
/** How long after it was sent a poll counts as parked. */
const PARKED_MS = 300;
/** How many sessions of a case are cleaned up at once. */
const CLEAN_UP_SESSIONS = 24;
/** A session that was just completed is answered at once, unless the relay is broken. */
const CLEAN_UP_MS = 5_000;

export type Relay = ReturnType<typeof createRelay>;

export function createRelay({ options, nextAddress, secrets }: Shared) {
  /** By poll secret: the sessions of this case that may be open. */
  const own = new Map<string, Session>();
  const cookies = new Map<string, string>();

  const keep = (session: Session) => {
    secrets.note(session.pollSecret, session.state, session.userCode ?? '');
    own.set(session.pollSecret, session);
  };
  const sendTo = async (baseUrl: string, call: Call): Promise<Answer> => {
    const answer = await sendHttp(baseUrl, call);
    // Checked in every case: docs/protocol.md §7.
    if (/^\/auth\/(?:start|result)(?:\?|$)/.test(call.path)) expect.noStore(answer);
    return answer;
  };
  const send = (call: Call) => sendTo(options.baseUrl, call);

  /** `POST /auth/start`. A string is sent as it is, anything else as JSON. */
  const postStart = async (body: unknown, from = nextAddress()): Promise<Answer> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await send({ method: 'POST', path: '/auth/start', body: text, from });
    const session = readSession(answer, from);
    if (session) keep(session);
    return answer;
  };
  const poll = async (
    session: Session,
    parameters: Parameters = {},
    call: Partial<Call> = {},
  ): Promise<Answer> => {
    const path = resultPath(session, parameters);
    const answer = await send({ path, timeoutMs: POLL_TIMEOUT_MS, ...call });
    const isResult = answer.status === 200 && !answer.body.includes('"progress"');
    if (isResult || answer.status === 410) own.delete(session.pollSecret);
    return answer;
  };
  /** Comes from the browser in which the user pressed Continue. */
  const callback = (session: Session, parameters: Parameters) => {
    const cookie = cookies.get(session.pollSecret);
    const headers = cookie === undefined ? {} : { Cookie: cookie };
    return send({ path: callbackPath(session, parameters), headers });
  };
  /** The form of the confirmation page, as a browser sends it. */
  const decide = async (session: Session, choice?: string, headers: Parameters = SAME_ORIGIN) => {
    const path = session.userCode ? codePath(session.userCode) : linkPath(session);
    const { from } = session;
    const call = {
      ...formCall(path, choice ? { choice } : {}),
      from,
      headers: { ...FORM, ...headers },
    };
    const answer = await send(call);
    const cookie = cookiesOf(answer);
    if (cookie) cookies.set(session.pollSecret, cookie);
    return answer;
  };
  /** Where the link asks first, a callback counts only from the browser that continued. */
  const end = async (session: Session) => {
    const answer = session.state && (await callback(session, { error: 'access_denied' }));
    if (!answer || answer.status === 404) await decide(session, 'decline');
  };

  return {
    nextAddress,
    /** The sessions of this case that may be open. */
    sessions: () => [...own.values()],
    keep,
    send,
    postStart,
    /** A start that must be accepted, for service A unless another is named. */
    async start({ from, ...fields }: StartFields = {}): Promise<Session> {
      const answer = await postStart({ service: SERVICE_A, ...fields }, from);
      const { session } = expect.json(answer);
      return present('a session and a link with a state', own.get(String(session)));
    },
    open: (session: Session) => send({ path: linkPath(session) }),
    callback,
    decide,
    poll,
    /** A poll that is held; `disconnect` closes its connection, and then no answer comes. */
    async park(session: Session, parameters?: Parameters) {
      const abort = new AbortController();
      const answer = poll(session, parameters, { signal: abort.signal });
      await sleep(PARKED_MS);
      return { answer, disconnect: () => abort.abort() };
    },
    async sendUnconfigured(call: Call): Promise<Answer> {
      const { unconfiguredUrl } = options;
      if (unconfiguredUrl === undefined) throw new Skip('needs --unconfigured-url');
      return await sendTo(unconfiguredUrl, call);
    },
    /** Completes and claims the sessions that this case left open, which the relay would count until they expire. */
    cleanUp() {
      const acquire = createSemaphore(CLEAN_UP_SESSIONS);
      const claim = async (session: Session) => {
        await end(session);
        await poll(session, {}, { timeoutMs: CLEAN_UP_MS });
      };
      const sessions = [...own.values()];
      return Promise.allSettled(
        sessions.map((session) => acquire().then((release) => claim(session).finally(release))),
      );
    },
  };
}

export interface StartFields {
  readonly service?: string;
  readonly code?: boolean;
  readonly device?: string;
  readonly from?: ClientAddress | undefined;
  readonly [field: string]: unknown;
}

/** The session that a start answered with. Lenient: the cases of `start` check its form. */
function readSession(answer: Answer, from: ClientAddress): Session | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { session, url, userCode } = JSON.parse(answer.body) as Record<string, unknown>;
    if (typeof session !== 'string') return undefined;
    const link = new URL(String(url));
    return {
      service: link.pathname.split('/').at(-1) ?? '',
      pollSecret: session,
      state: link.searchParams.get('state') ?? '',
      url: String(url),
      from,
      ...(typeof userCode === 'string' && { userCode }),
    };
  } catch {
    return undefined;
  }
}

/** The cookies that a browser would send to every path (RFC 6265 §5.4). */
export function cookiesOf({ headers }: Answer): string {
  return (headers['set-cookie'] ?? [])
    .map((line) => line.split('; '))
    .filter((parts) => parts.includes('Path=/'))
    .map(([pair]) => pair)
    .join('; ');
}
