/** Loaded into a relay before its own code, to break it there. TEST_FAULT names what breaks. */
import { plantSecret } from './secrets.ts';

/** Errors of the runtime may hold secrets in their messages: none may be shown or logged. */
function makeError(name: string): TypeError {
  const secret = plantSecret(`${name}-secret-in-a-message`);
  return new TypeError(`a message that holds ${secret}\n    at ${secret}`);
}

/** Most of them wait for a signal. */
const FAULTS: Readonly<Record<string, () => void>> = {
  /** An error that nothing catches: a rejection at SIGUSR1, an exception at SIGUSR2. */
  'stray error'() {
    process.on('SIGUSR1', () => void Promise.reject(makeError('stray')));
    process.on('SIGUSR2', () => {
      setTimeout(() => {
        throw makeError('stray');
      }, 0);
    });
  },
  /** The function that the relay gave the runtime to handle requests throws. */
  'broken handler'() {
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
            throw makeError('handler');
          },
        }),
    });
  },
  /** Parsing a URL throws an error whose message contains the URL, like the runtime's own. */
  'broken URL'() {
    URL.canParse = (address) => {
      throw new TypeError(`cannot read ${address}\n    at ${address}`);
    };
  },
  /** What a relay does every half a minute it does every second. */
  'short timers'() {
    const set: (run: () => void, delayMs: number) => NodeJS.Timeout = setTimeout;
    Object.assign(globalThis, {
      setTimeout: (run: () => void, delayMs: number) => set(run, Math.min(delayMs, 1_000)),
    });
  },
  'clock a minute ahead': () => setAhead(60_000),
  'clock an hour ahead': () => setAhead(3_600_000),
};

function setAhead(byMs: number): void {
  const now = performance.now.bind(performance);
  performance.now = () => now() + byMs;
}

const fault = process.env.TEST_FAULT ?? '';
const cause = FAULTS[fault];
if (cause === undefined) throw new Error(`no such fault: ${fault}`);
cause();
