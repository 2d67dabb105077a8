/** Loaded before the tests (bunfig.toml). Bun's fetch would send even 127.0.0.1 through a proxy. */
process.env.NO_PROXY = '127.0.0.1,localhost';
