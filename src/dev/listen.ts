/** Listens with Bun.serve, closes and listens again. The only file of `dev` that uses Bun. */
import type { Peers } from '../http/request.ts';
import { MAX_IDLE_SECONDS, REQUEST_BODY_BYTES } from '../limits.ts';
import type { Certificate } from './certificate.ts';

export interface Listener {
  open(): Promise<void>;
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls: Certificate | undefined;
  handle(request: Request, peers: Peers): Promise<Response>;
}

export function createListener({ hostname, port, tls, handle }: ListenOptions): Listener {
  let server: Bun.Server<unknown> | undefined;
  return {
    async open() {
      server = Bun.serve({
        ...{ hostname, port, reusePort: false, development: false },
        ...(tls !== undefined && { tls: { key: tls.key, cert: tls.cert } }),
        idleTimeout: MAX_IDLE_SECONDS,
        maxRequestBodySize: REQUEST_BODY_BYTES,
        fetch: handle,
        // A response that is broken off on request is no fault.
        error: () => new Response('fault of the dev relay\n', { status: 500 }),
      });
    },
    async close() {
      const closing = server;
      server = undefined;
      // What is in progress gets a moment to be sent, then it is cut off.
      await Promise.race([closing?.stop(), Bun.sleep(CLOSE_MS)]);
      closing?.stop(true).catch(() => {});
    },
  };
}

const CLOSE_MS = 300;
