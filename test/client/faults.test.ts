/** The SDK against the real relay, over a network that cuts, delays and repeats. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSession, type Tokens } from '../../client/src/index.ts';
import { createMemory } from '../../client/src/storage.ts';
import { type Fate, startFaultProxy } from '../kit/fault-proxy.ts';
import { startTokenEndpoint, type TokenEndpoint, tokensFor } from '../kit/provider.ts';
import { createRandom, IS_SOAK, testSeed } from '../kit/random.ts';
import { type RelayProcess, startRelay } from '../kit/relay.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';
import { inLanes } from '../kit/wait.ts';

let provider: TokenEndpoint;
let relay: RelayProcess;

beforeAll(async () => {
  provider = startTokenEndpoint();
  relay = await startRelay({
    MAL_TOKEN_URL: provider.tokenUrl,
    START_BURST: '100000',
    LOG_LEVEL: 'info',
  });
});

afterAll(async () => {
  await relay.stop();
  provider.stop();
});

/** The user signs in as soon as there is a prompt. */
async function signInOver(url: string): Promise<{ code: string; tokens: Tokens | undefined }> {
  const code = makeCode();
  const storage = createMemory();
  const session = createSession({ relay: url, service: 'mal', code: false, storage });
  session.subscribe(() => {
    const { state } = session;
    if (state.status !== 'waiting') return;
    const browserState = new URL(state.prompt.link).searchParams.get('state') ?? '';
    void bringCodeWhenPossible([relay], browserState, code);
  });
  await session.signIn();
  const tokens = await session.getTokens();
  return { code, tokens };
}

/** So many run at the same time. */
const LANES = 100;
const SIGN_INS = IS_SOAK ? 1_000 : 100;

test(`${SIGN_INS} sign-ins with 30 % of the connections cut end in as many token sets`, async () => {
  const random = createRandom(testSeed);
  const decide = (): Fate => {
    const fate = random();
    if (fate < 0.25) return { cutAfter: random() };
    if (fate < 0.3) return { losesRequest: true };
    if (fate < 0.4) return { delayMs: random() * 300 };
    if (fate < 0.5) return { isDoubled: true };
    return {};
  };
  using proxy = await startFaultProxy(relay.baseUrl, decide);
  const received = new Set<string>();
  await inLanes(LANES, Array(SIGN_INS), async () => {
    const { code, tokens } = await signInOver(proxy.url);
    expect(tokens).toEqual(tokensFor(code));
    received.add(String(tokens?.accessToken));
  });
  expect(received.size).toBe(SIGN_INS);
  expect(proxy.counts.cut / proxy.counts.exchanges).toBeGreaterThan(0.25);
}, 180_000);
