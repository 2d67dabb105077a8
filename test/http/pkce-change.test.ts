/** A provider's PKCE method is changed while sign-ins are under way, one relay after the other. RFC 7636 §4. */
import { describe, expect, test } from 'bun:test';
import { hash } from 'node:crypto';
import type { PkceMethod } from '../../src/providers/provider.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { createTestService, SETTINGS } from '../support/test-service.ts';

const METHODS: readonly PkceMethod[] = ['none', 'plain', 'S256'];
const CHANGES = METHODS.flatMap((started) =>
  METHODS.flatMap((opened) => METHODS.map((returned) => ({ started, opened, returned }))),
);

/** Relays over one store, of which each has another method. */
function createRelays() {
  const store = createMemoryStore(SETTINGS);
  return (pkce: PkceMethod) => {
    const providers = SETTINGS.providers.map((provider) => ({ ...provider, pkce }));
    return createTestService({ providers }, undefined, { store });
  };
}

/** What the provider is sent: with the browser, and by the relay. */
async function signIn({ started, opened, returned }: (typeof CHANGES)[number]) {
  const relayWith = createRelays();
  const { session, state, url } = await relayWith(started).start();
  const page = await relayWith(opened).send(url);
  const location = page.headers.get('location') ?? '';
  const last = relayWith(returned);
  await last.callback(state);
  expect((await last.poll(session)).status).toBe(200);
  const [exchange] = last.exchanges;
  return {
    location,
    sent: new URL(location).searchParams,
    verifier: exchange?.get('code_verifier'),
  };
}

describe.each(CHANGES)(
  'started with $started, opened with $opened, back with $returned',
  (change) => {
    const { started, opened } = change;

    test(started === 'none' ? 'goes on without PKCE' : 'goes on with PKCE', async () => {
      const { location, sent, verifier } = await signIn(change);
      const challenge = sent.get('code_challenge');
      if (started === 'none') {
        expect([challenge, sent.get('code_challenge_method'), verifier]).toEqual([
          null,
          null,
          null,
        ]);
        return;
      }
      expect(verifier).toHaveLength(64);
      if (opened === 'plain') {
        expect([sent.get('code_challenge_method'), challenge]).toEqual(['plain', String(verifier)]);
      } else {
        const digest = hash('sha256', String(verifier), 'base64url');
        expect([sent.get('code_challenge_method'), challenge]).toEqual(['S256', digest]);
        expect(location).not.toContain(String(verifier));
      }
    });
  },
);
