/** TLS before a relay, as a proxy has it in production: browsers keep `__Secure-` cookies of https alone. */
import { createSelfSigned } from '../../support/self-signed.ts';

export interface TlsFront {
  /** What browsers open; a phone must be told not to mind the certificate. */
  readonly url: string;
  passOnTo(baseUrl: string): void;
  stop(): Promise<void>;
}

export async function startTlsFront(): Promise<TlsFront> {
  let target = '';
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: await createSelfSigned(),
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      return fetch(`${target}${pathname}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: 'manual',
      });
    },
  });
  return {
    url: server.url.origin,
    passOnTo(baseUrl) {
      target = baseUrl;
    },
    stop: () => server.stop(true),
  };
}
