/** The target as a device and a browser see it: `protocol.md` §4, one verb an endpoint. */

import { present, Skip } from '../engine/expect.ts';
import type { Secrets } from '../engine/secrets.ts';
import { atMost } from '../engine/wait.ts';
import { readJson } from './answers.ts';
import { type Answer, type Call, send } from './http.ts';
import { createLedger, type Ledger, type Session } from './ledger.ts';
import type { Source, Sources } from './sources.ts';

export type Parameters = Readonly<Record<string, string>>;

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
  /** `POST /auth/start` with this body; a session it yields is kept account of. */
  post(body: string, from?: Source): Promise<Answer>;
  /** A start that must be accepted; `extra` fields go into its body. */
  start(service: string, from?: Source, extra?: Parameters): Promise<Session>;
  open(session: Session): Promise<Answer>;
  callback(session: Session, parameters: Parameters): Promise<Answer>;
  poll(secret: string): Promise<Answer>;
  /** A poll that is held; `leave` is how a device goes away. */
  park(secret: string): Parked;
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
}

/** What a poll may take beyond its hold before it counts as unanswered. */
const POLL_MARGIN_MS = 15_000;
const CLEANERS = 24;
/** A session that was just completed answers at once, unless the target is broken. */
const CLEAN_UP_MS = 5_000;

export function createTarget(wiring: Wiring): Target {
  const { baseUrl, sources, secrets } = wiring;
  const own = createLedger(wiring.ledger);
  const post = async (body: string, from?: Source) => {
    const source = from ?? (await sources.next());
    const call = { method: 'POST', path: '/auth/start', body, from: source };
    const answer = await send(baseUrl, call);
    const session = readSession(answer, source);
    if (session) {
      secrets.note(session.secret, session.state);
      own.add(session);
    }
    return answer;
  };
  const poll = async (secret: string, settings: Partial<Call> = {}) => {
    const path = `/auth/result?${new URLSearchParams({ session: secret })}`;
    const timeoutMs = wiring.pollSeconds * 1000 + POLL_MARGIN_MS;
    const answer = await send(baseUrl, { path, timeoutMs, ...settings });
    if (answer.status === 200 || answer.status === 410) own.remove(secret);
    return answer;
  };
  const callback = (session: Session, parameters: Parameters) => {
    const query = new URLSearchParams({ ...parameters, state: session.state });
    return send(baseUrl, { path: `/auth/${session.service}/callback?${query}` });
  };
  return {
    sources,
    ledger: wiring.ledger,
    send: (call) => send(baseUrl, call),
    post,
    async start(service, from, extra) {
      const answer = await post(JSON.stringify({ service, ...extra }), from);
      return startedSession(answer, own);
    },
    open: (session) => send(baseUrl, { path: linkPath(session) }),
    callback,
    poll: (secret) => poll(secret),
    park: (secret) => parkPoll(poll, secret),
    sendUnconfigured: (call) => sendUnconfigured(wiring.unconfiguredUrl, call),
    cleanUp: () =>
      atMost(CLEANERS, own.sessions, async (session) => {
        await callback(session, { error: 'access_denied' });
        await poll(session.secret, { timeoutMs: CLEAN_UP_MS });
      }),
  };
}

/** The link as the suite reaches it; that `url` itself is right is a case of its own. */
export function linkPath(session: Session): string {
  return `/auth/${session.service}?${new URLSearchParams({ state: session.state })}`;
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

async function sendUnconfigured(url: string | undefined, call: Call): Promise<Answer> {
  if (url === undefined) throw new Skip('needs --unconfigured-url');
  return await send(url, call);
}

/** Lenient on purpose: what is wrong with an answer is for the cases of the start group to say. */
function readSession(answer: Answer, from: Source): Session | undefined {
  if (answer.status !== 200) return undefined;
  try {
    const { session, url, expiresIn } = JSON.parse(answer.body) as Record<string, unknown>;
    const link = new URL(String(url));
    if (typeof session !== 'string') return undefined;
    return {
      service: link.pathname.split('/').at(-1) ?? '',
      secret: session,
      state: link.searchParams.get('state') ?? '',
      url: String(url),
      expiresIn: Number(expiresIn),
      from,
    };
  } catch {
    return undefined;
  }
}
