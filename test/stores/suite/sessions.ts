/** Sessions for the store suite, made on the way that real ones take. */
import { randomBytes } from 'node:crypto';
import { createCapability, createUserCode, createVerifier } from '../../../src/relay/secrets.ts';
import type { NewSession, SessionStore } from '../../../src/relay/store.ts';

/** Opens an empty store for one test. */
export type OpenStore = (options?: { maxSessions: number }) => Promise<SessionStore>;

export const NOW = 1_700_000_000_000;
export const LIFETIME_MS = 600_000;
export const TOKENS = { accessToken: 'access', refreshToken: 'refresh', expiresIn: 3_600 };

export function newSession(overrides: Partial<NewSession> = {}): NewSession {
  return {
    browserState: createCapability(randomBytes),
    pollSecret: createCapability(randomBytes),
    service: 'mal',
    verifier: createVerifier(randomBytes),
    lifetimeMs: LIFETIME_MS,
    ...overrides,
  };
}

export const makeUserCode = () => createUserCode(randomBytes);

export async function register(store: SessionStore, overrides: Partial<NewSession> = {}) {
  const session = newSession(overrides);
  const outcome = await store.register(session, NOW);
  if (outcome !== 'registered') throw new Error(`not registered: ${outcome}`);
  return session;
}

export async function registerCompleted(store: SessionStore, overrides: Partial<NewSession> = {}) {
  const session = await register(store, overrides);
  await store.lease(session.service, session.browserState, NOW);
  await store.complete(session.service, session.browserState, TOKENS, NOW);
  return session;
}
