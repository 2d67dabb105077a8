/** What endpoints may do with sign-ins, beyond the machine: retries, the observer, and the end of a process. */
import { beforeEach, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createSignIns, type NewSignIn, type SignIns } from '../../src/sign-ins/sign-ins.ts';
import { StoreUnavailable } from '../../src/sign-ins/store.ts';
import { createMemoryStore, plainVault } from '../../src/stores/memory.ts';
import { advance, createFakeClock, type FakeClock } from '../kit/clock.ts';
import { DRAIN_DELIVERY_MS, EXCHANGE_LEASE_MS } from '../kit/limits.ts';
import { LIFETIME_MS, TOKENS } from '../kit/stores.ts';

const ASKED: NewSignIn = {
  delivery: { kind: 'tokens', verifier: 'v' },
  withUserCode: false,
  deviceName: undefined,
  redeliveryMs: undefined,
};
const NEVER = new AbortController().signal;

let clock: FakeClock;
let seen: unknown[];

beforeEach(() => {
  clock = createFakeClock();
  seen = [];
});

function create(overrides: Partial<Parameters<typeof createSignIns>[0]> = {}) {
  return createSignIns({
    store: createMemoryStore(clock, 10),
    vault: plainVault,
    observer: {
      opened() {},
      delivered() {},
      resultLost: (service) => void seen.push(['lost', service]),
      cancelled: (service) => void seen.push(['cancelled', service]),
      expired() {},
    },
    clock,
    randomBytes,
    sessionSeconds: LIFETIME_MS / 1_000,
    ...overrides,
  });
}

async function start(signIns: SignIns, asked: Partial<NewSignIn> = {}) {
  const started = await signIns.start('mal', { ...ASKED, ...asked });
  if (!started.ok) throw new Error(started.refusal);
  return started.secrets;
}

const grant = () => ({ ok: true, result: TOKENS }) as const;

test('a secret that is taken is drawn again; after five times the device is refused', async () => {
  let repeated = 0;
  const drawn = new Map<number, Buffer>();
  const signIns = create({
    randomBytes(length) {
      const before = drawn.get(length);
      repeated -= 1;
      if (before !== undefined && repeated >= 0) return before;
      // A link that ends with `-` or `_` would be drawn again.
      const bytes = randomBytes(length).fill(0, length - 1);
      drawn.set(length, bytes);
      return bytes;
    },
  });
  await start(signIns);
  // Two are drawn for each session.
  repeated = 2 * 4;
  await start(signIns);
  repeated = 2 * 5;
  expect(await signIns.start('mal', ASKED)).toEqual({ ok: false, refusal: 'busy' });
});

test('link, poll secret and user code are drawn apart, and share no byte', async () => {
  const drawn: string[] = [];
  const signIns = create({
    randomBytes(length) {
      const bytes = randomBytes(length);
      drawn.push(bytes.toString('base64url'));
      return bytes;
    },
  });
  const { browserState, pollSecret } = await start(signIns, { withUserCode: true });
  // A secret that link finders would cut is drawn again.
  const kept = drawn.filter((each) => !/[-_]$/.test(each));
  expect([browserState, pollSecret]).toEqual(kept.slice(0, 2));
  expect(drawn.length).toBeGreaterThan(2);
});

test('a drain waits for tokens until its limit, not for errors or what was delivered', async () => {
  const [waiting, failed, delivered] = [create(), create(), create()];
  await waiting.finish('mal', (await start(waiting)).browserState, grant);
  await failed.fail('mal', (await start(failed)).browserState, 'access_denied');
  const { browserState, pollSecret } = await start(delivered);
  await delivered.finish('mal', browserState, grant);
  const over: SignIns[] = [];
  for (const signIns of [waiting, failed, delivered]) {
    signIns.drain();
    void signIns.drained().then(() => over.push(signIns));
  }
  await delivered.poll(pollSecret, NEVER, 0, {});
  await advance(clock, DRAIN_DELIVERY_MS - 500);
  expect(over).toEqual([failed, delivered]);
  await advance(clock, 500);
  expect(over).toContain(waiting);
});

test('tokens that cannot be kept are reported, unless the device has cancelled', async () => {
  const store = createMemoryStore(clock, 10);
  const signIns = create({ store });
  for (const passedMs of [LIFETIME_MS, EXCHANGE_LEASE_MS]) {
    seen.length = 0;
    const late = await start(signIns);
    const { outcome } = await signIns.finish('mal', late.browserState, () => {
      clock.advance(passedMs + 1);
      return grant();
    });
    expect([outcome, seen]).toEqual(['link_invalid', [['lost', 'mal']]]);
  }

  const cancelled = await start(signIns);
  const late = await signIns.finish('mal', cancelled.browserState, async () => {
    await signIns.cancel(cancelled.pollSecret);
    return grant();
  });
  expect(late).toMatchObject({ outcome: 'cancelled' });
  expect(seen).toEqual([
    ['lost', 'mal'],
    ['cancelled', 'mal'],
  ]);

  const failing = await start(signIns);
  const finished = signIns.finish('mal', failing.browserState, () => {
    store.update = () => {
      throw new StoreUnavailable('down');
    };
    return grant();
  });
  expect(finished).rejects.toThrow(StoreUnavailable);
  await finished.catch(() => {});
  expect(seen.at(-1)).toEqual(['lost', 'mal']);
});
