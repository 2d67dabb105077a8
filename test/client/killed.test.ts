/** An app that is killed while it signs in: real processes at a real relay. */
import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyOf } from '../../client/src/storage.ts';
import { newFolder } from '../kit/folder.ts';
import { type Child, startChild } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { createRandom, IS_SOAK, testSeed } from '../kit/random.ts';
import { ROOT, startRelay } from '../kit/relay.ts';
import { bringCodeWhenPossible, makeCode } from '../kit/user.ts';

/** Sign-ins of one process, which are killed together, each at another point. */
const SLOTS = 8;
const PROCESSES = IS_SOAK ? 25 : 4;
const APP = `${ROOT}test/client/app.ts`;
const STEPS = ['starting', 'keeping', 'prompt', 'saving', 'saved', 'emptying', 'done'];

const provider = startTokenEndpoint();
const relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl, START_BURST: '100000' });
const folder = newFolder();

interface Line {
  readonly slot: number;
  readonly step: string;
  readonly link?: string;
}

/** The app's storage, and a user for each of its sign-ins who opens each link once. */
function createHome(random: () => number, longestMs: number) {
  const home = mkdtempSync(join(folder, 'home-'));
  /** By slot: the codes of the sign-ins that the relay completed. */
  const brought = new Map<number, string[]>();
  const opened = new Set<string>();
  const users: Promise<void>[] = [];

  async function open({ slot, link = '' }: Line): Promise<void> {
    if (opened.has(link)) return;
    opened.add(link);
    await Bun.sleep(random() * longestMs);
    const code = makeCode();
    const state = new URL(link).searchParams.get('state') ?? '';
    const status = await bringCodeWhenPossible(relay, state, code);
    if (status === 200) brought.set(slot, [...(brought.get(slot) ?? []), code]);
  }

  function run(count: number, onStep: (line: Line) => void = () => {}): Child {
    return startChild([process.execPath, APP, relay.baseUrl, home, String(count)], {
      onLine(text) {
        const line = JSON.parse(text) as Line;
        onStep(line);
        if (line.link !== undefined) users.push(open(line));
      },
    });
  }

  const tokensOf = (slot: number) => {
    const key = keyOf({ relay: relay.baseUrl, service: 'mal', account: `${slot}` });
    const { expiresAt: _, ...tokens } = JSON.parse(readFileSync(join(home, `${key}.json`), 'utf8'));
    return tokens;
  };
  /** A device may end before its user has seen the last page. */
  const untilUsersAreDone = () => Promise.all(users);
  return { run, brought, tokensOf, untilUsersAreDone };
}

/** Every other process is killed at a step of one of its sign-ins, the others at a random time. */
async function killOnce(index: number, random: () => number): Promise<void> {
  const home = createHome(random, 200);
  const step = STEPS[Math.floor(random() * STEPS.length)];
  const nth = Math.floor(random() * SLOTS);
  const delayMs = random() * 350;
  let reached = 0;
  const killed = home.run(SLOTS, (line) => {
    if (index % 2 === 0) {
      if (line.step === step && reached++ === nth) killed.kill('SIGKILL');
    } else if (reached++ === 0) {
      setTimeout(() => killed.kill('SIGKILL'), delayMs);
    }
  });
  await killed.exited;
  const again = home.run(SLOTS);
  expect([await again.exited, again.output()]).toEqual([0, expect.any(String)]);
  await home.untilUsersAreDone();
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const codes = home.brought.get(slot) ?? [];
    // The user signed in once.
    expect(codes.length).toBe(1);
    expect(home.tokensOf(slot)).toEqual(tokensFor(codes[0] ?? ''));
  }
}

test('killed at any point until save has ended: the tokens come, without a new sign-in', async () => {
  const random = createRandom(testSeed);
  for (let index = 0; index < PROCESSES; index += 1) await killOnce(index, random);
}, 240_000);
