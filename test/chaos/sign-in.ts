/** One sign-in: a device that polls and retries as docs/protocol.md tells it to, and a user who reloads a page that failed. */
import { randomUUID } from 'node:crypto';
import { startRequest } from '../kit/device.ts';
import { plantSecret } from '../kit/secrets.ts';
import { decision } from '../kit/user.ts';
import { type History, nowMs, type RequestEvent, type What } from './history.ts';
import { type Behaviour, behaviourFor, type Provider } from './provider.ts';

/** The header by which the history knows a request. */
export const REQUEST_ID = 'x-request-id';

/** What this device and this user are like. All of it follows from the seed. */
interface Habits {
  /** The device acknowledges (docs/protocol.md §4.3). */
  readonly ack: boolean;
  /** The user follows the short link and presses Continue. */
  readonly code: boolean;
  /** Seconds that a poll may wait, of clients that give up early (docs/protocol.md §4.2). */
  readonly wait: number | undefined;
  /** The device closes its first poll so early, and polls again. */
  readonly leavesAfterMs: number | undefined;
  /** It has two polls at once. */
  readonly pollsTwice: boolean;
  readonly thinksMs: number;
  readonly user: 'signs in' | 'declines' | 'leaves' | 'taps twice';
  /** What the provider does when it gets the code. */
  readonly behaviour: Behaviour;
}

export function habitsFor(random: () => number): Habits {
  const is = (probability: number) => random() < probability;
  const [leaves, declines, tapsTwice] = [is(0.004), is(0.05), is(0.1)];
  const user = tapsTwice ? 'taps twice' : 'signs in';
  return {
    ack: is(0.5),
    code: is(0.15),
    wait: is(0.3) ? 5 : undefined,
    leavesAfterMs: is(0.15) ? random() * 1_500 : undefined,
    pollsTwice: is(0.15),
    thinksMs: random() * 1_000,
    user: leaves ? 'leaves' : declines ? 'declines' : user,
    behaviour: behaviourFor(random),
  };
}

interface World {
  readonly baseUrl: string;
  readonly provider: Provider;
  readonly history: History;
}

/** Between two tries: docs/protocol.md §3 says two seconds, which would make few tries of a short fault. */
const PAUSE_MS = 300;
/** Longer than any request may take: it counts as hung. */
const GIVE_UP_MS = 62_000;
/** A user reloads a page so often, which is longer than any fault lasts. */
const RELOADS = 300;

interface Answer {
  readonly status: RequestEvent['status'];
  readonly location: string | null;
  readonly body: string;
}

interface Asked {
  readonly init?: RequestInit;
  readonly code?: string;
  readonly giveUpAfterMs?: number | undefined;
}

/** The device and the browser of one sign-in, which share an address that no other sign-in has. */
function createClients(world: World, signIn: number) {
  const address = `10.${signIn >> 16}.${(signIn >> 8) & 255}.${signIn & 255}`;

  async function ask(what: What, path: string, asked: Asked = {}): Promise<Answer> {
    const { init, giveUpAfterMs = GIVE_UP_MS, ...about } = asked;
    const id = randomUUID();
    const fromMs = nowMs();
    const answer = await fetch(new URL(path, world.baseUrl), {
      ...init,
      headers: { ...init?.headers, [REQUEST_ID]: id, 'X-Forwarded-For': address },
      signal: AbortSignal.timeout(giveUpAfterMs),
      redirect: 'manual',
      keepalive: false,
    })
      .then(readWhole)
      .catch(() => LOST);
    const { status } = answer;
    const result = what === 'poll' ? resultIn(answer) : {};
    const request = { signIn, what, fromMs, toMs: nowMs(), id, status, ...about, ...result };
    world.history.push({ type: 'request', ...request });
    return answer;
  }
  return { world, signIn, ask };
}

type Clients = ReturnType<typeof createClients>;

const LOST: Answer = { status: 'lost', location: null, body: '' };

async function readWhole(response: Response): Promise<Answer> {
  const body = await response.text();
  const expected = response.headers.get('content-length');
  if (expected !== null && Buffer.byteLength(body) < Number(expected)) return LOST;
  return { status: response.status, location: response.headers.get('location'), body };
}

function resultIn({ status, body }: Answer): Partial<Pick<RequestEvent, 'token' | 'error'>> {
  if (status !== 200) return {};
  const { accessToken, error } = JSON.parse(body) as Record<string, string>;
  return {
    ...(accessToken !== undefined && { token: accessToken }),
    ...(error !== undefined && { error }),
  };
}

/** Resolves when device and user have nothing more to do. */
export async function signIn(world: World, nth: number, habits: Habits): Promise<void> {
  const clients = createClients(world, nth);
  const started = await start(clients, habits);
  await Promise.all([runDevice(clients, started, habits), runUser(clients, started, habits)]);
  world.history.push({ type: 'ended', signIn: nth, atMs: nowMs() });
}

interface Started {
  readonly session: string;
  readonly state: string;
  readonly link: string | undefined;
  readonly expiresAtMs: number;
}

async function start(clients: Clients, { ack, code }: Habits): Promise<Started> {
  const init = startRequest('mal', { ...(ack && { ack }), ...(code && { code }) });
  for (;;) {
    const { status, body } = await clients.ask('start', '/auth/start', { init });
    if (status === 200) {
      const { session, url, expiresIn, link } = JSON.parse(body);
      const state = new URL(url).searchParams.get('state') ?? '';
      for (const secret of [session, state]) plantSecret(secret);
      const expiresAtMs = nowMs() + expiresIn * 1_000;
      const event = { type: 'started', signIn: clients.signIn, atMs: nowMs() } as const;
      clients.world.history.push({ ...event, ack, expiresAtMs });
      return { session, state, link: link && new URL(link).pathname, expiresAtMs };
    }
    await Bun.sleep(PAUSE_MS);
  }
}

async function runDevice(clients: Clients, started: Started, habits: Habits): Promise<void> {
  const { leavesAfterMs, pollsTwice } = habits;
  const poll = (giveUpAfterMs?: number) => pollOnce(clients, started, habits, giveUpAfterMs);
  if (leavesAfterMs !== undefined && (await poll(leavesAfterMs))) return;
  const isOver = { value: false };
  const pollToEnd = async () => {
    while (!isOver.value && nowMs() < started.expiresAtMs + GIVE_UP_MS) {
      if (await poll()) isOver.value = true;
    }
  };
  await Promise.all(pollsTwice ? [pollToEnd(), pollToEnd()] : [pollToEnd()]);
  // A device that forgot that it has its tokens: there must be none any more.
  await pollOnce(clients, started, { ...habits, wait: 0 });
}

/** True: the sign-in is over for the device, which has acknowledged if it said that it would. */
async function pollOnce(
  clients: Clients,
  { session }: Started,
  { ack, wait }: Habits,
  giveUpAfterMs?: number,
): Promise<boolean> {
  const waiting = wait === undefined ? '' : `&wait=${wait}`;
  const path = `/auth/result?session=${session}`;
  const { status } = await clients.ask('poll', path + waiting, { giveUpAfterMs });
  if (status === 200 && ack) await acknowledge(clients, path);
  if (status === 200 || status === 410) return true;
  if (status !== 204) await Bun.sleep(PAUSE_MS);
  return false;
}

async function acknowledge(clients: Clients, path: string): Promise<void> {
  for (;;) {
    const { status } = await clients.ask('acknowledge', `${path}&ack=1`);
    if (status === 204 || status === 410) return;
    await Bun.sleep(PAUSE_MS);
  }
}

async function runUser(clients: Clients, started: Started, habits: Habits): Promise<void> {
  await Bun.sleep(habits.thinksMs);
  const state = await openLink(clients, started);
  if (state === undefined || habits.user === 'leaves') return;
  await Bun.sleep(habits.thinksMs / 2);
  const back = `/auth/mal/callback?state=${state}`;
  if (habits.user === 'declines') {
    await reload(() => clients.ask('callback', `${back}&error=access_denied`));
    return;
  }
  const code = clients.world.provider.makeCode(habits.behaviour);
  const comeBack = () => reload(() => clients.ask('callback', `${back}&code=${code}`, { code }));
  await Promise.all(habits.user === 'taps twice' ? [comeBack(), comeBack()] : [comeBack()]);
}

/** Returns the state of the redirect to the provider. Undefined: the page said that the link is no longer valid. */
async function openLink(clients: Clients, { state, link }: Started): Promise<string | undefined> {
  const { location } = await reload(() =>
    link === undefined
      ? clients.ask('link', `/auth/mal?state=${state}`)
      : clients.ask('continue', link, { init: decision('continue') }),
  );
  return location === null ? undefined : (new URL(location).searchParams.get('state') ?? '');
}

/** While there is no page, or one that says that a reload may work. */
async function reload(visit: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await visit();
    if ((answer.status !== 503 && answer.status !== 'lost') || tries === RELOADS) return answer;
    await Bun.sleep(PAUSE_MS);
  }
}
