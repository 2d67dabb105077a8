/** What `login` and `logout` share: the options of the command line, and the exit codes. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isPrivate } from '../../../client/src/ask.ts';
import { printable } from '../terminal.ts';

/** docs/login.md. */
export const EXIT_CODES = {
  signedIn: 0,
  usage: 2,
  declined: 3,
  failed: 4,
  expired: 5,
  relay: 6,
  output: 7,
  interrupted: 130,
  terminated: 143,
} as const;

export const DEV_RELAY = 'http://127.0.0.1:8080';

/** Of both commands. */
const COMMON = {
  relay: { type: 'string' },
  'allow-http': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export class UsageError extends Error {
  constructor(
    message: string,
    readonly showsUsage = false,
  ) {
    super(message);
  }
}

/** On stderr; stdout is for tokens. */
export const say = (text: string) => void process.stderr.write(`${printable(text)}\n`);

export function reportUsageError(error: UsageError, usage: string): number {
  say(error.message);
  if (error.showsUsage) process.stderr.write(`\n${usage}`);
  return EXIT_CODES.usage;
}

/** Throws UsageError. `service` is empty if help is asked for. */
export function parseOptions<Own extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  own: Own,
) {
  const options = { ...COMMON, ...own };
  const { values, positionals } = attempt(() =>
    parseArgs({ args: [...args], allowPositionals: true, options }),
  );
  const [service = '', ...more] = positionals;
  const { help } = values as { readonly help?: boolean };
  if (!help && (service === '' || more.length > 0)) {
    throw new UsageError('Name one service of the relay.', true);
  }
  return { values, service };
}

function attempt<Parsed>(parse: () => Parsed): Parsed {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : error}`, true);
  }
}

/** The value of `--relay`, or its default, without slashes at its end. */
export function readRelayUrl(given: string | undefined, allowHttp: boolean): string {
  const relay = given ?? (process.env.SIGN_IN_RELAY_URL || DEV_RELAY);
  if (!/^https?:\/\//i.test(relay) || !URL.canParse(relay) || /[?#@]/.test(relay)) {
    throw new UsageError('--relay is the base URL of a relay, such as https://relay.example.');
  }
  const base = relay.replace(/(?<!\/)\/+$/, '');
  if (allowHttp || isPrivate(`${base}/`)) return base;
  throw new UsageError(
    `${base} is http: anybody on the way could read the tokens. Use https, or --allow-http in a network of your own.`,
  );
}
