/** Preloaded into a relay: when a signal says so, what it gave the runtime to handle requests throws. */
import { plantSecret } from './secrets.ts';

let isBroken = false;
process.on('SIGUSR2', () => {
  isBroken = true;
});

const serve: (options: Bun.Serve.Options<unknown>) => Bun.Server<unknown> = Bun.serve;

Object.assign(Bun, {
  serve: (options: Bun.Serve.Options<unknown> & { fetch: (...args: unknown[]) => Response }) =>
    serve({
      ...options,
      fetch(...args: unknown[]) {
        if (!isBroken) return options.fetch(...args);
        throw new TypeError(`a message that holds ${plantSecret('handler-secret-in-a-message')}`);
      },
    }),
});
