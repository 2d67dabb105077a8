/** Listens as the relay does, and can close and listen again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { HandleRequest } from '../../http/app.ts';
import { MAX_IDLE_SECONDS } from '../../limits.ts';
import { type Certificate, type Listener, loadRuntime } from '../../server/listen.ts';

export interface DevListener {
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface DevListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls: Certificate | undefined;
  readonly handle: HandleRequest;
}

/** Responses in progress get this long to finish, then they are cut off. */
const CLOSE_MS = 300;

export function createListener({ hostname, port, tls, handle }: DevListenOptions): DevListener {
  let running: Listener | undefined;
  return {
    async open() {
      const runtime = await loadRuntime();
      const options = { handle, idleSeconds: MAX_IDLE_SECONDS };
      running = await runtime.listen(
        { hostname, port },
        tls === undefined ? options : { ...options, certificate: tls },
      );
    },
    async close() {
      const closing = running;
      running = undefined;
      await Promise.race([closing?.stop(), pause(CLOSE_MS)]);
      closing?.cut();
    },
  };
}
