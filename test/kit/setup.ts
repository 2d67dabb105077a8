/** Loaded before the tests (bunfig.toml). */
import { afterAll } from 'bun:test';
import { endAll } from './cleanup.ts';
import { removeFolders } from './folder.ts';

// Bun's fetch would send even 127.0.0.1 through a proxy.
process.env.NO_PROXY = '127.0.0.1,localhost';

// After the hooks of the tests. In one process with other files, after the last file.
afterAll(async () => {
  await endAll();
  removeFolders();
});
