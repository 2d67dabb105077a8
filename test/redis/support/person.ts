/** What the person's browser does, in one request. */
import { randomUUID } from 'node:crypto';
import { plantSecret } from '../../support/secrets.ts';

export function makeCode(): string {
  return plantSecret(`code-${randomUUID()}`);
}

/** Comes back from the provider with a code. */
export function bringCode(
  { baseUrl }: { readonly baseUrl: string },
  state: string,
  code: string,
): Promise<Response> {
  const query = new URLSearchParams({ state, code });
  return fetch(`${baseUrl}/auth/mal/callback?${query}`);
}
