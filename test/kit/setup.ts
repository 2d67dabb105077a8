/** Loaded before every test file (bunfig.toml), so that `bun test test/http` works like `npm test`. */
import { setDefaultTimeout } from 'bun:test';

/** Bun's own 5 s are short for a real Redis or a real browser on a busy machine. */
setDefaultTimeout(30_000);

// Bun's fetch would send even 127.0.0.1 through a proxy.
process.env.NO_PROXY = '127.0.0.1,localhost';
