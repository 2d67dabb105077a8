/** A provider's token endpoint that counts: how often was each code, or refresh token, brought? */
import { createGate, type Gate } from '../../support/gate.ts';
import { plantSecret } from '../../support/secrets.ts';

export interface TokenEndpoint {
  readonly tokenUrl: string;
  /** Closed, it holds every exchange. */
  readonly gate: Gate;
  exchangesOf(code: string): number;
  stop(): void;
}

export function startTokenEndpoint(): TokenEndpoint {
  const exchanges = new Map<string, number>();
  const gate = createGate();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const form = new URLSearchParams(await request.text());
      const code = form.get('code') ?? form.get('refresh_token') ?? '';
      exchanges.set(code, (exchanges.get(code) ?? 0) + 1);
      await gate.pass();
      return Response.json({ access_token: tokenOf(code) });
    },
  });
  return {
    tokenUrl: `${server.url.origin}/token`,
    gate,
    exchangesOf: (code) => exchanges.get(code) ?? 0,
    stop: () => void server.stop(true),
  };
}

/** What the endpoint gives for a code. */
export function tokenOf(code: string): string {
  return plantSecret(`token-for-${code}`);
}
