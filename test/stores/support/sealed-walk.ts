/** Sign-ins through the whole relay, with every secret of theirs remembered. */
import { randomBytes } from 'node:crypto';
import type { RedisStores } from '../../../src/stores/open-redis.ts';
import { createGate } from '../../support/gate.ts';
import { plantSecret } from '../../support/secrets.ts';
import { createTestService, SETTINGS } from '../../support/test-service.ts';

const makeSecret = () => plantSecret(randomBytes(24).toString('base64url'));

/** A relay over these stores, and what it and its people know and the stores must not. */
export function createWatchedRelay(stores: RedisStores) {
  const secrets = new Set<string>();
  const remember = <Value extends string>(secret: Value): Value => {
    secrets.add(plantSecret(secret));
    return secret;
  };
  const clientSecret = remember(makeSecret());
  const providers = SETTINGS.providers.map((provider) => ({ ...provider, clientSecret }));
  const gate = createGate();
  const grant = { access_token: remember(makeSecret()), refresh_token: remember(makeSecret()) };
  const service = createTestService(
    { providers },
    async () => {
      await gate.pass();
      return Response.json(grant);
    },
    stores,
  );

  /** A device begins, and its person opens the link. */
  async function start() {
    const { session, state, url } = await service.start();
    const opened = await service.send(url);
    const authorizeUrl = new URL(opened.headers.get('location') ?? '');
    const verifier = authorizeUrl.searchParams.get('code_challenge') ?? '';
    for (const secret of [session, state, verifier]) remember(secret);
    return { session, state };
  }

  return {
    secrets,
    grant,
    start,
    poll: service.poll,
    /** The person comes back with a code. */
    signIn: (state: string) => service.callback(state, `code=${remember(makeSecret())}`),
    /** The person comes back without. */
    refuse: (state: string) => service.callback(state, 'error=access_denied'),
    /** The provider keeps its answer to itself. */
    holdExchange: () => gate.close(),
  };
}
