/** Sign-ins through the whole relay, with every secret of theirs remembered. */
import { randomBytes } from 'node:crypto';
import type { RedisStores } from '../../../src/stores/open-redis.ts';
import { createGate } from '../../support/gate.ts';
import { plantSecret } from '../../support/secrets.ts';
import { createTestService, SETTINGS } from '../../support/test-service.ts';
import { NOW } from '../suite/sessions.ts';

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

  /** A device that asks for a code, gives itself a name and will confirm; its person has typed nothing yet. */
  async function startWithCode() {
    const device = `device ${crypto.randomUUID().slice(0, 30)}`;
    const body = JSON.stringify({ service: 'mal', code: true, ack: true, device });
    const response = await service.send('/auth/start', { method: 'POST', body });
    const { session, userCode } = (await response.json()) as { session: string; userCode: string };
    const letters = userCode.replace('-', '');
    // Not looked for in logs: codes are too short for it, and a name is no secret there.
    for (const unreadable of [userCode, letters, device]) secrets.add(unreadable);
    return { session: remember(session), userCode: letters, device };
  }

  /** The person types the code and goes on. */
  async function useCode(userCode: string) {
    const found = await stores.store.useCode(userCode, NOW);
    return { state: remember(found?.browserState ?? ''), deviceName: found?.deviceName };
  }

  return {
    secrets,
    remember,
    startWithCode,
    useCode,
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
