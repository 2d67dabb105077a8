/** An app that keeps what it needs in files: `bun app.ts RELAY FOLDER COUNT`. A test kills it, and starts it again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createSession } from '../../client/src/index.ts';
import { fileStorage } from '../../client/src/node.ts';

const [, , relay = '', folder = '', count = '1'] = process.argv;
const files = fileStorage(folder);

async function signInSlot(slot: number): Promise<void> {
  const tell = (step: string, more = {}) =>
    process.stdout.write(`${JSON.stringify({ slot, step, ...more })}\n`);
  const session = createSession({
    relay,
    service: 'mal',
    account: `${slot}`,
    code: false,
    storage: {
      ...files,
      // Slow, so that it can be killed in the middle.
      async setItem(key, value) {
        tell(key.startsWith('unfinished') ? 'keeping' : 'saving');
        await sleep(15);
        await files.setItem(key, value);
        await sleep(15);
        tell('kept');
      },
      removeItem(key) {
        tell('emptying');
        return files.removeItem(key);
      },
    },
  });
  if (await session.getTokens()) return;
  tell('starting');
  session.subscribe(() => {
    const { state } = session;
    if (state.status === 'waiting') tell('prompt', { link: state.prompt.link });
  });
  await session.signIn();
  tell('done');
}

await Promise.all(Array.from({ length: Number(count) }, (_, slot) => signInSlot(slot)));
