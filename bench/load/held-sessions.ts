/** Sessions that are held open, with or without a poll parked for each. */
import { type Connection, connect } from './connection.ts';
import { runMany } from './loops.ts';
import { ask, onConnection } from './pool.ts';
import { cancelRequest, pollRequest } from './requests.ts';
import { expectStatus, type Relays, type Started, start } from './sign-in.ts';

const AT_ONCE = 64;

interface Parked {
  readonly connection: Connection;
  readonly answered: Promise<unknown>;
}

const held = new Map<number, Started[]>();
const parked = new Map<number, Parked[]>();

/** Starts so many more sessions and keeps their capabilities. */
export async function holdSessions({ device }: Relays, count: number): Promise<void> {
  const sessions = sessionsAt(device);
  await runMany(count, AT_ONCE, async () => sessions.push(await onConnection(device, start)));
}

/** Parks a poll for each, on a connection of its own. */
export async function parkPolls({ device }: Relays): Promise<void> {
  const polls: Parked[] = [];
  parked.set(device, polls);
  const sessions = [...sessionsAt(device)];
  await runMany(sessions.length, AT_ONCE, async () => {
    const started = sessions.pop();
    if (started === undefined) return;
    const connection = await connect(device);
    const answered = connection.send(pollRequest(started.session));
    // Looked at when it is released; a connection that we close answers nothing.
    answered.catch(() => {});
    polls.push({ connection, answered });
  });
}

/**
 * Brings every session to its end. Of the parked polls each second is answered,
 * and the others' devices leave first and come again, as happens on weak Wi-Fi.
 */
export async function endSessions({ device, browser }: Relays): Promise<void> {
  const polls = parked.get(device) ?? [];
  polls.forEach(({ connection }, index) => {
    if (index % 2 === 1) connection.close();
  });
  const sessions = sessionsAt(device).splice(0);
  const states = sessions.map(({ state }) => state);
  await runMany(states.length, AT_ONCE, async () => {
    const answer = await ask(browser, cancelRequest(states.pop() ?? ''));
    expectStatus(200, answer, 'cancel');
  });
  await Promise.all(polls.map(({ answered }, index) => index % 2 === 0 && answered));
  for (const { connection } of polls) connection.close();
  parked.delete(device);
  // Those that a parked poll was handed are gone (410); the others are fetched here.
  await runMany(sessions.length, AT_ONCE, () =>
    ask(device, pollRequest(sessions.pop()?.session ?? '')),
  );
}

/** Sessions started and not ended at that port, for whoever finishes them. */
export function sessionsAt(port: number): Started[] {
  const sessions = held.get(port) ?? [];
  held.set(port, sessions);
  return sessions;
}
