/** `npm run bench -- --profile`: where the relay's time goes, function by function. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { type Arrangement, arrangeMemory, arrangeOneWithRedis } from './support/arrangements.ts';
import { describeProfile } from './support/profile.ts';
import { ROOT } from './support/relay.ts';

/** Not kept in the repository. */
const FOLDER = join(ROOT, 'dist/profiles');

export async function profile(bench: Bench): Promise<void> {
  await profileOne('memory', bench, (profiled) => arrangeMemory(profiled));
  const url = bench.redis?.url;
  if (url === undefined) return;
  await profileOne('redis', bench, (profiled) => arrangeOneWithRedis(profiled, url));
}

async function profileOne(
  name: string,
  bench: Bench,
  arrange: (bench: Bench) => Promise<Arrangement>,
): Promise<void> {
  const { generator, plan, env } = bench;
  // A folder of its own for each, so that the newest file is the one.
  const folder = join(FOLDER, `${name}-${Date.now()}`);
  const BUN_OPTIONS = `--cpu-prof --cpu-prof-interval=500 --cpu-prof-dir=${folder}`;
  const { relays, stop } = await arrange({ ...bench, env: { ...env, BUN_OPTIONS } });
  try {
    const count = plan.warmUpSignIns + plan.signInsARound * plan.rounds;
    await generator.call('signIns', { relays, count, atOnce: plan.atOnce });
  } finally {
    // The profile is written when the relay ends.
    await stop();
  }
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    console.log(`\n### Profile, ${name}\n\n${path}\n${describeProfile(path).join('\n')}`);
  }
}
