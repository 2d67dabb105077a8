import type { LaunchedRelay } from './relay-process.ts';

/** Resolves once the relay has parked so many polls since its start. */
export async function untilWaiting(relay: LaunchedRelay, polls: number): Promise<void> {
  let seen = 0;
  await relay.waitForEvent(({ event }) => event === 'poll_waiting' && ++seen === polls);
}
