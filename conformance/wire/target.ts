/** The target as a device and a browser see it: `protocol.md` §4, one verb an endpoint. */

import { present, Skip } from '../engine/expect.ts';
import type { Secrets } from '../engine/secrets.ts';
import { atMost } from '../engine/wait.ts';
import { callbackPath, codePath, FORM, formCall, linkPath } from './addresses.ts';
import { readJson } from './answers.ts';
import { type Answer, type Call, send as sendHttp } from './http.ts';
import { createLedger, type Ledger, type Session } from './ledger.ts';
import type { Record as RecordAnswer } from './record.ts';
import type { Source, Sources } from './sources.ts';
import { readSession } from './started.ts';

export type Parameters = Readonly<Record<string, string>>;

export type Choice = 'continue' | 'decline';

export interface Parked {
  readonly answer: Promise<Answer>;
  /** Closes the connection; the answer then never comes. */
  leave(): void;
}

export interface Target {
  readonly sources: Sources;
  /** Everything of ours that lives in the target, other cases' sessions included. */
  readonly ledger: Ledger;
  send(call: Call): Promise<Answer>;
  /** Keeps account of a session that began at another door than `/auth/start`. */
  keep(session: Session): void;
  forget(secret: string): void;
  /** `POST /auth/start` with this body; a session it yields is kept account of. */
  post(body: string, from?: Source): Promise<Answer>;
  /** A start that must be accepted; `extra` fields go into its body. */
  start(service: string, from?: Source, extra?: object): Promise<Session>;
  open(session: Session): Promise<Answer>;
  /** By the browser that continued, where the session was continued. */
  callback(session: Session, parameters: Parameters): Promise<Answer>;
  poll(secret: string): Promise<Answer>;
  /** A poll that is held; `leave` is how a device goes away. */
  park(secret: string): Parked;
  /** A form of the page that asks, as a browser sends it. */
  decide(session: Session, choice: Choice, headers?: Parameters): Promise<Answer>;
  /** The unconfigured instance. */
  sendUnconfigured(call: Call): Promise<Answer>;
  /** Completes and claims what this case left. */
  cleanUp(): Promise<void>;
}

export interface Wiring {
  readonly baseUrl: string;
  readonly unconfiguredUrl: string | undefined;
  readonly pollSeconds: number;
  readonly sources: Sources;
  readonly secrets: Secrets;
  readonly ledger: Ledger;
  readonly record: RecordAnswer;
}

/** What a browser says of a form that it sends to where it has it from. */
const FROM_OUR_PAGE = { 'Sec-Fetch-Site': 'same-origin' };

/** What a poll may take beyond its hold before it counts as unanswered. */
const POLL_MARGIN_MS = 15_000;
const CLEANERS = 24;
/** A session that was just completed answers at once, unless the target is broken. */
const CLEAN_UP_MS = 5_000;

export function createTarget(wiring: Wiring): Target {
  const { sources, secrets } = wiring;
  const send = createSend(wiring.baseUrl, wiring.record);
  const own = createLedger(wiring.ledger);
  const keep = (session: Session) => {
    secrets.note(session.secret, session.state, session.userCode ?? '');
    own.add(session);
  };
  const post = async (body: string, from?: Source) => {
    const source = from ?? (await sources.next());
    const call = { method: 'POST', path: '/auth/start', body, from: source };
    const answer = await send(call);
    const session = readSession(answer, source);
    if (session) keep(session);
    return answer;
  };
  const poll = async (secret: string, settings: Partial<Call> = {}) => {
    const path = `/auth/result?${new URLSearchParams({ session: secret })}`;
    const timeoutMs = wiring.pollSeconds * 1000 + POLL_MARGIN_MS;
    const answer = await send({ path, timeoutMs, ...settings });
    if (answer.status === 200) own.deliver(secret);
    if (answer.status === 410) own.remove(secret);
    return answer;
  };
  const cookies = createCookieJar();
  const callback = (session: Session, parameters: Parameters) =>
    send({ path: callbackPath(session, parameters), headers: cookies.forCallback(session) });
  const decide = async (session: Session, choice: Choice, headers: Parameters = FROM_OUR_PAGE) => {
    const path = session.userCode ? codePath(session.userCode) : linkPath(session);
    const { from } = session;
    const call = { ...formCall(path, { choice }), from, headers: { ...FORM, ...headers } };
    const answer = await send(call);
    cookies.take(session, answer);
    return answer;
  };
  /** Where the link asks, a callback is heard from the browser that continued alone. */
  const end = async (session: Session) => {
    const answer = session.state && (await callback(session, { error: 'access_denied' }));
    if (!answer || answer.status === 404) await decide(session, 'decline');
  };
  return {
    sources,
    ledger: wiring.ledger,
    send,
    keep,
    forget: own.remove,
    post,
    async start(service, from, extra) {
      const answer = await post(JSON.stringify({ service, ...extra }), from);
      return startedSession(answer, own);
    },
    open: (session) => send({ path: linkPath(session) }),
    decide,
    callback,
    poll: (secret) => poll(secret),
    park: (secret) => parkPoll(poll, secret),
    sendUnconfigured: (call) => sendUnconfigured(wiring, call),
    cleanUp: () =>
      atMost(CLEANERS, own.sessions, async (session) => {
        await end(session);
        await poll(session.secret, { timeoutMs: CLEAN_UP_MS });
      }),
  };
}

/** What Continue left with the browser of each session's user. RFC 6265. */
function createCookieJar() {
  const kept = new Map<string, string>();
  return {
    take({ secret, service }: Session, { headers }: Answer): void {
      const forCallback = (headers['set-cookie'] ?? [])
        .map((line) => line.split('; '))
        .filter((parts) =>
          parts.some((part) => new RegExp(`^Path=.*/auth/${service}/callback$`).test(part)),
        )
        .map(([pair]) => pair);
      if (forCallback.length > 0) kept.set(secret, forCallback.join('; '));
    },
    forCallback({ secret }: Session): Parameters {
      const cookie = kept.get(secret);
      return cookie === undefined ? {} : { Cookie: cookie };
    },
  };
}

function createSend(baseUrl: string, record: RecordAnswer): Target['send'] {
  return (call) => {
    const answer = sendHttp(baseUrl, call);
    // A case that has failed for another reason does not look at what else it sent.
    answer.then((answered) => record(call, answered)).catch(() => undefined);
    return answer;
  };
}

function startedSession(answer: Answer, own: Ledger): Session {
  const { session } = readJson(answer);
  const started = own.sessions.find((each) => each.secret === session);
  return present('a session and a link with a state in the start response', started);
}

function parkPoll(
  poll: (secret: string, settings: Partial<Call>) => Promise<Answer>,
  secret: string,
): Parked {
  const gone = new AbortController();
  const answer = poll(secret, { signal: gone.signal });
  // A case may fail, or leave, without ever asking how its poll ended.
  answer.catch(() => undefined);
  return { answer, leave: () => gone.abort() };
}

async function sendUnconfigured({ unconfiguredUrl, record }: Wiring, call: Call): Promise<Answer> {
  if (unconfiguredUrl === undefined) throw new Skip('needs --unconfigured-url');
  return await createSend(unconfiguredUrl, record)(call);
}
