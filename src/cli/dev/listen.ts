/** Listens as the relay does, and can close and listen again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { HandleRequest } from '../../http/app.ts';
import { MAX_IDLE_SECONDS } from '../../limits.ts';
import type { Listener, Runtime } from '../../server/runtime.ts';

export interface DevListener {
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface DevListenOptions {
  readonly runtime: Runtime;
  readonly hostname: string;
  readonly port: number;
  readonly handle: HandleRequest;
}

/** Responses in progress get this long to finish, then they are cut off. */
const CLOSE_MS = 300;

export function createListener(options: DevListenOptions): DevListener {
  const { runtime, hostname, port, handle } = options;
  let running: Listener | undefined;
  return {
    async open() {
      running = await runtime.listen({ hostname, port, handle, idleSeconds: MAX_IDLE_SECONDS });
    },
    async close() {
      const closing = running;
      running = undefined;
      await Promise.race([closing?.stop(), pause(CLOSE_MS)]);
      closing?.cut();
    },
  };
}
