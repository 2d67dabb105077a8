/** An app that keeps what it needs in files: `bun app.ts RELAY FOLDER COUNT [TIMEOUT_MS]`. The tests kill it, stop it, and start it again. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signIn } from '../../client/src/index.ts';

const [, , relay = '', folder = '', count = '1', timeoutMs] = process.argv;

/** A slow store, which has a file whole or not at all. */
async function write(path: string, text: string): Promise<void> {
  for (let part = 0; part < 3; part += 1) {
    writeFileSync(`${path}.part`, text.slice(0, (text.length * (part + 1)) / 3));
    await sleep(10);
  }
  renameSync(`${path}.part`, path);
}

async function signInSlot(slot: number): Promise<void> {
  const tell = (step: string, more = {}) =>
    process.stdout.write(`${JSON.stringify({ slot, step, ...more })}\n`);
  const tokensPath = join(folder, `${slot}.tokens`);
  const pendingPath = join(folder, `${slot}.pending`);
  if (existsSync(tokensPath)) return;
  tell('starting');
  await signIn({
    relay,
    service: 'mal',
    code: false,
    timeoutMs: timeoutMs === undefined ? undefined : Number(timeoutMs),
    pending: {
      load: () => (existsSync(pendingPath) ? readFileSync(pendingPath, 'utf8') : null),
      async save(state) {
        tell(state === null ? 'emptying' : 'keeping');
        if (state === null) rmSync(pendingPath, { force: true });
        else await write(pendingPath, state);
      },
    },
    onPrompt: ({ link }) => void tell('prompt', { link }),
    async save(tokens) {
      tell('saving');
      await write(tokensPath, JSON.stringify(tokens));
      tell('saved');
    },
  });
  tell('done');
}

await Promise.all(Array.from({ length: Number(count) }, (_, slot) => signInSlot(slot)));
