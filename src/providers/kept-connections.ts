/**
 * Connections to providers are kept: over TLS a handshake costs more than all
 * the rest of a sign-in. The price is a connection that the provider closes just
 * as it is used again, when nobody knows whether the request arrived.
 */
import type { Fetch } from './token-endpoint.ts';

/**
 * A request that met such a connection is sent once more, on a new one. A code
 * can be spent once, and still nothing is lost by that: if the first request did
 * arrive, its answer is gone, and the second is refused, which is
 * `exchange_failed` as it would have been. Never repeats a request to an
 * address that has not answered before, to which no connection can have been
 * kept, nor one that was answered in part, nor one with a connection of its own.
 */
export function keepConnections(fetch: Fetch): Fetch {
  /** Addresses that have answered, to which a connection may have been kept. */
  const known = new Set<string>();
  return async (url, init) => {
    try {
      const response = await fetch(url, init);
      known.add(url);
      return response;
    } catch (error) {
      if (init.keepalive === false || !known.has(url) || !isReset(error)) throw error;
      return fetch(url, { ...init, keepalive: false });
    }
  };
}

/** Bun says so itself; Node in the cause. */
function isReset(error: unknown): boolean {
  return RESETS.has(codeOf(error)) || (error instanceof Error && RESETS.has(codeOf(error.cause)));
}

const RESETS = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
