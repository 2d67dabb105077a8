/** `sign-in-relay dev`: a relay and a provider to test an app against. docs/dev.md. */
import { randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { MAX_IDLE_SECONDS } from '../../limits.ts';
import { startLog } from '../../log.ts';
import { codeOf } from '../../providers/connect-problem.ts';
import type { Runtime } from '../../server/runtime.ts';
import { findProviderNameProblem } from '../../settings/checks.ts';
import { CommandError, PROGRAM, parseOptions } from '../command-line.ts';
import { renderQr } from '../terminal.ts';
import { style, takeLog } from './output.ts';
import { createDevProvider } from './provider.ts';
import { DevRelay, type DevRelayOptions } from './relay.ts';

/** The first port to try. If it or the next one is taken, the first two free ones above it are used. */
const DEFAULT_PORT = 8_080;
/** One less than the highest port, because the provider uses the next one. */
const MAX_PORT = 65_534;

const USAGE = `sign-in-relay dev: a relay and a provider to try your app against

Usage: sign-in-relay dev [options]

  --port N           port of the relay; the provider's is the next one.
                     Default: ${DEFAULT_PORT}, or above it the first two that are free.
                     0: any two that are free
  --service NAME     what your app calls the service (dev); several with commas
  --blind WHICH      whether devices may or must exchange the code themselves:
                     no, can or must (no)
  --open             open sign-ins too, and an MCP server for them
  --lan              can be reached from other devices in your network
  --address ADDRESS  the same with this address, if --lan finds a wrong one
  --help

Choose how a sign-in ends on the provider's page, or with a request from your
app's tests. The provider's base URL lists the endings.
Ctrl-C ends it. docs/dev.md has more.
`;

/** The words of /services, and those of the setting BLIND. */
const BLIND = { no: 'never', can: 'allow', must: 'always' } as const;

/** Resolves with the exit code, or undefined while it runs: then a signal ends the process. */
export async function dev(args: readonly string[], runtime: Runtime): Promise<number | undefined> {
  const options = readOptions(args);
  if (options === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { lan, services, blind, open } = options;
  const found = lan ? findLanAddresses() : [];
  const host = options.address ?? (lan ? found[0] : LOOPBACK);
  if (host === undefined) {
    throw new CommandError('This machine has no network address. Name one with --address.');
  }
  startLog({ level: 'debug', format: 'json', write: takeLog });
  const hostname = lan ? EVERY_ADDRESS : LOOPBACK;
  const relay = await listen(options.port, { hostname, host, services, blind, open, runtime });
  const end = () => process.exit(0);
  // `disconnect`: the process of a test that started it, by the client's kit, has ended.
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.once(event, end);
  // Ends, and frees the ports, when nobody reads the output any more, as after `| head`.
  process.stdout.once('error', end);
  const others = found.filter((each) => each !== host);
  introduce(options, relay, others);
  return undefined;
}

const findLanAddresses = () =>
  Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);

const LOOPBACK = '127.0.0.1';
const EVERY_ADDRESS = '0.0.0.0';

/** Where `--port 0` begins to look: above what others use, and below what Linux gives to clients. */
const FREE_PORTS = [20_000, 30_000] as const;

/** Listens on this port and the next one, or for undefined or 0 on the first two that are free. */
async function listen(
  asked: number | undefined,
  common: Omit<DevRelayOptions, 'port' | 'askProvider'>,
): Promise<DevRelay> {
  const first = asked === 0 ? randomInt(...FREE_PORTS) : (asked ?? DEFAULT_PORT);
  for (let port = first; port <= MAX_PORT; port += 1) {
    const relay = new DevRelay({ ...common, port, askProvider: (request) => handle(request) });
    const handle = createDevProvider(relay);
    const { hostname, runtime } = common;
    let trying = port;
    try {
      await relay.open();
      trying += 1;
      await runtime.listen({ hostname, port: trying, idleSeconds: MAX_IDLE_SECONDS, handle });
      return relay;
    } catch (error) {
      // Otherwise the half that listens would keep the process running.
      await relay.close();
      const code = codeOf(error);
      if (code === 'EACCES') throw new CommandError(`You may not listen on port ${trying}.`);
      if (code !== 'EADDRINUSE') throw error;
      if (asked) {
        const problem = `Port ${trying} is taken by another program. Choose another with --port.`;
        throw new CommandError(problem);
      }
    }
  }
  throw new CommandError(`No two ports are free from ${first} on. Choose one with --port.`);
}

/** The command to suggest. In a checkout it is an npm script. */
const LOGIN = process.env.npm_lifecycle_event === 'dev' ? 'npm run login --' : `${PROGRAM} login`;

function introduce(
  { lan, port: asked }: DevOptions,
  { baseUrl, providerUrl, options: { port, services, open } }: DevRelay,
  otherAddresses: readonly string[],
): void {
  const link = (text: string) => style(['cyan', 'underline'], text);
  const isMoved = asked === undefined && port !== DEFAULT_PORT;
  const others = otherAddresses.map((each) => `--address ${each}`).join(', ');
  const login = `${LOGIN} ${services[0]} --relay ${baseUrl}`;
  const lines = [
    style('bold', 'Sign-in Relay for development'),
    '',
    isMoved &&
      `Port ${DEFAULT_PORT} or ${DEFAULT_PORT + 1} is taken by another program: here it is ${port}.\n`,
    `The relay            ${link(baseUrl)}  service ${services.map((name) => `"${name}"`).join(', ')}`,
    `How sign-ins end     ${link(`${providerUrl}/`)}`,
    `A television         ${link(`${providerUrl}/tv`)}`,
    open && `An MCP server        ${link(`${providerUrl}/mcp`)}`,
    '',
    ...(lan
      ? [
          'Scan this code to open the list on a phone in the same network:',
          '',
          ...renderQr(`${providerUrl}/`).lines,
          '',
          others
            ? `If it does not open, try another address: ${others}`
            : 'If it does not open, check the firewall of this machine.',
        ]
      : ['Only this machine can reach it. For a phone or a television: --lan']),
    '',
    'A device starts a sign-in with',
    `  curl -X POST ${baseUrl}/auth/start -d '{"service":"${services[0]}"}'`,
    'To sign in from another terminal:',
    `  ${login}${lan ? ' --allow-http' : ''}`,
    '',
    style('dim', 'Events are shown below. Ctrl-C ends it.'),
  ].filter((line) => line !== false);
  process.stdout.write(`\n${lines.map((line) => (line ? `  ${line}` : '')).join('\n')}\n\n`);
}

type DevOptions = NonNullable<ReturnType<typeof readOptions>>;

/** Undefined if help is asked for. */
function readOptions(args: readonly string[]) {
  const { values } = parseOptions({ args: [...args], options: OPTIONS }, USAGE);
  if (values.help) return undefined;
  const { lan = false, open = false, address, blind = 'no' } = values;
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= MAX_PORT)) {
    throw new CommandError(`--port is a number from 0 to ${MAX_PORT}.`);
  }
  const services = (values.service ?? 'dev').split(',').map((name) => name.trim());
  const isName = (name: string) => findProviderNameProblem(name) === undefined;
  if (!services.every(isName) || new Set(services).size < services.length) {
    throw new CommandError('--service is a name such as mal, or several with commas: mal,anilist.');
  }
  if (address !== undefined && isIP(address) !== 4) {
    throw new CommandError('--address is an IPv4 address of this machine.');
  }
  if (!Object.hasOwn(BLIND, blind)) throw new CommandError('--blind is no, can or must.');
  const policy = BLIND[blind as keyof typeof BLIND];
  return { port, services, blind: policy, open, lan: lan || address !== undefined, address };
}

const OPTIONS = {
  port: { type: 'string' },
  service: { type: 'string' },
  blind: { type: 'string' },
  open: { type: 'boolean' },
  lan: { type: 'boolean' },
  address: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;
