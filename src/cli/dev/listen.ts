/** Listens as the relay does, and can close and listen again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Listener, ListenOptions, Runtime } from '../../server/runtime.ts';

/** Responses in progress get this long to finish, then they are cut off. */
const CLOSE_MS = 300;

export type DevListener = ReturnType<typeof createListener>;

export function createListener(runtime: Runtime, options: ListenOptions) {
  let running: Listener | undefined;
  return {
    async open(): Promise<void> {
      running = await runtime.listen(options);
    },
    async close(): Promise<void> {
      const closing = running;
      running = undefined;
      await Promise.race([closing?.stop(), pause(CLOSE_MS)]);
      closing?.cut();
    },
  };
}
