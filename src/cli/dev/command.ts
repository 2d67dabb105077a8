/** `sign-in-relay dev`: a relay and a provider to test an app against. docs/dev.md. */
import { type AddressInfo, createServer, isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { MAX_IDLE_SECONDS } from '../../limits.ts';
import { startLog } from '../../log.ts';
import type { Runtime } from '../../server/runtime.ts';
import { findProviderNameProblem } from '../../settings/checks.ts';
import { printable, renderQr } from '../terminal.ts';
import { findLanAddresses } from './address.ts';
import { DevProvider } from './provider.ts';
import { DEFAULT_SERVICE, DevRelay, type DevRelayOptions, SettingsProblem } from './relay.ts';
import { style, takeLog } from './story.ts';

/** If another program has it, or the next one, the first two that are free. */
const DEFAULT_PORT = 8_080;
/** The provider has the next one. */
const MAX_PORT = 65_534;

const USAGE = `sign-in-relay dev: a relay and a provider to try your app against

Usage: sign-in-relay dev [options]

  --port N           port of the relay; the provider's is the next one.
                     Default: ${DEFAULT_PORT}, or above it the first two that are free.
                     0: any two that are free
  --service NAME     what your app calls the service (${DEFAULT_SERVICE}); several with commas
  --blind WHICH      whether devices may or must exchange the code themselves:
                     no, can or must (no)
  --open             open sign-ins too, and an MCP server for them
  --lan              can be reached from other devices in your network
  --address ADDRESS  with --lan: this machine's, if a wrong one is found
  --help

Choose how a sign-in ends on the provider's page, with the user name there, or
with a request from your app's tests. The provider's base URL lists the endings.
Ctrl-C ends it. docs/dev.md has more.
`;

/** The words of /services, and those of the setting BLIND. */
const BLIND = { no: 'never', can: 'allow', must: 'always' } as const;

/** The command line is wrong, or this machine unfit. Its message is for the user. */
class CommandError extends Error {}

/** Resolves with the exit code, or undefined while it runs: then a signal ends the process. */
export async function dev(args: readonly string[], runtime: Runtime): Promise<number | undefined> {
  try {
    const options = readOptions(args);
    if (options === 'help') {
      process.stdout.write(USAGE);
      return 0;
    }
    await run(options, runtime);
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError || error instanceof SettingsProblem)) throw error;
    process.stderr.write(`${error.message.split('\n').map(printable).join('\n')}\n`);
    return 1;
  }
}

async function run(options: DevOptions, runtime: Runtime): Promise<void> {
  const { lan } = options;
  const port = options.port || (await findFreePorts(options.port ?? DEFAULT_PORT));
  const found = lan ? await findLanAddresses() : [];
  const host = options.address ?? (lan ? found[0] : LOOPBACK);
  if (host === undefined) {
    throw new CommandError('This machine is in no network. Name its address with --address.');
  }
  startLog({ level: 'debug', format: 'json', write: takeLog });
  const hostname = lan ? EVERY_ADDRESS : LOOPBACK;
  const relay = new DevRelay({
    hostname,
    port,
    baseUrl: `http://${host}:${port}`,
    providerUrl: `http://${host}:${port + 1}`,
    services: options.services,
    blind: options.blind,
    open: options.open,
    runtime,
    askProvider: (request) => provider.handle(request),
  });
  const provider = new DevProvider(relay);
  const handle = (request: Request) => provider.handle(request);
  const on = { hostname, port: port + 1, idleSeconds: MAX_IDLE_SECONDS, handle };
  await open(relay.open(), port);
  try {
    await open(runtime.listen(on), port + 1);
  } catch (error) {
    // Half of it would go on, and the process with it.
    await relay.close();
    throw error;
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(0));
  }
  const others = found.filter((each) => each !== host);
  introduce(options, relay.options, others);
}

const LOOPBACK = '127.0.0.1';
const EVERY_ADDRESS = '0.0.0.0';

/** The first of two that are free, from this one on; with 0 any two. */
async function findFreePorts(first: number): Promise<number> {
  for (let asked = first; asked <= MAX_PORT; asked += first && 1) {
    const port = await listenOnce(asked);
    if (port !== undefined && port < MAX_PORT && (await listenOnce(port + 1))) return port;
  }
  throw new CommandError(`No two ports are free from ${first} on. Choose one with --port.`);
}

/** Resolves with the port, or with undefined if it is taken. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(undefined));
    server.listen(port, LOOPBACK, () => {
      const found = (server.address() as AddressInfo).port;
      server.close(() => resolve(found));
    });
  });
}

async function open(opened: Promise<unknown>, port: number): Promise<void> {
  try {
    await opened;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      const problem = `Port ${port} is taken by another program. Choose another with --port.`;
      throw new CommandError(problem);
    }
    if (code === 'EACCES') throw new CommandError(`Only root may listen on port ${port}.`);
    throw error;
  }
}

/** The command is an npm script in a checkout. */
const loginCommand = () =>
  process.env.npm_lifecycle_event === 'dev' ? 'npm run login --' : 'sign-in-relay login';

function introduce(
  { lan, port: asked }: DevOptions,
  { port, baseUrl, providerUrl, services, open }: DevRelayOptions,
  otherAddresses: readonly string[],
): void {
  const link = (text: string) => style(['cyan', 'underline'], text);
  const isMoved = asked === undefined && port !== DEFAULT_PORT;
  const others = otherAddresses.map((each) => `--address ${each}`).join(', ');
  const login = `${loginCommand()} ${services[0]} --relay ${baseUrl}`;
  const lines = [
    style('bold', 'Sign-in Relay for development'),
    '',
    isMoved &&
      `Port ${DEFAULT_PORT} or ${DEFAULT_PORT + 1} is taken by another program: here it is ${port}.`,
    isMoved && '',
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

type DevOptions = Exclude<ReturnType<typeof readOptions>, 'help'>;

function readOptions(args: readonly string[]) {
  const { values } = parse(args);
  if (values.help) return 'help' as const;
  const { lan = false, open = false, address, blind = 'no' } = values;
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= MAX_PORT)) {
    throw new CommandError(`--port is a number from 0 to ${MAX_PORT}.`);
  }
  const services = (values.service ?? DEFAULT_SERVICE).split(',').map((name) => name.trim());
  const isName = (name: string) => findProviderNameProblem(name) === undefined;
  if (!services.every(isName) || new Set(services).size < services.length) {
    throw new CommandError('--service is a name such as mal, or several with commas: mal,anilist.');
  }
  if (address !== undefined && isIP(address) !== 4) {
    throw new CommandError('--address is an IPv4 address of this machine.');
  }
  if (!Object.hasOwn(BLIND, blind)) throw new CommandError('--blind is no, can or must.');
  const policy = BLIND[blind as keyof typeof BLIND];
  // Absent port: DEFAULT_PORT, if that is free. */
  return { port, services, blind: policy, open, lan: lan || address !== undefined, address };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        port: { type: 'string' },
        service: { type: 'string' },
        blind: { type: 'string' },
        open: { type: 'boolean' },
        lan: { type: 'boolean' },
        address: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new CommandError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}
