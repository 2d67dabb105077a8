/** A dev relay in a process of its own, started as an app developer starts it: `sign-in-relay dev`. */
import { networkInterfaces } from 'node:os';
import { endWithFile } from './cleanup.ts';
import { type ChildOptions, findFreePort, startChild } from './process.ts';
import { MAIN } from './relay.ts';
import { untilShown } from './wait.ts';

/** The address of this machine in its network. */
export const lanAddress = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address;

export type DevRelayProcess = Awaited<ReturnType<typeof startDev>>;

interface DevOptions extends Pick<ChildOptions, 'cwd' | 'env'> {
  readonly args?: readonly string[];
  /** What is run instead of `bun src/cli/main.ts`. */
  readonly command?: readonly string[];
  /** Where it can be reached, if not at 127.0.0.1. */
  readonly origin?: string;
}

/** Resolves once it listens. */
export async function startDev({
  args = [],
  command = [process.execPath, MAIN],
  origin = 'http://127.0.0.1',
  ...options
}: DevOptions = {}) {
  const port = await findFreePort();
  const child = startChild([...command, 'dev', '--port', String(port), ...args], {
    ...options,
    logName: 'dev',
  });
  const relayUrl = `${origin}:${port}`;
  const providerUrl = `${origin}:${port + 1}`;
  await untilShown(child, 'Ctrl-C ends it');
  const from = (base: string) => (path: string, init?: RequestInit) =>
    fetch(new URL(path, base), { redirect: 'manual', ...init });
  const askProvider = from(providerUrl);
  function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    child.kill(signal);
    return child.exited;
  }
  endWithFile(stop);
  return {
    relayUrl,
    providerUrl,
    port,
    /** Asks the dev provider. Redirects are not followed. */
    askProvider,
    /** Resolves once its terminal has shown the text. */
    untilShown: (text: string) => untilShown(child, text),
    ask: from(relayUrl),
    /** How the next sign-in ends. */
    plan: (asked: object) =>
      askProvider('/next', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(asked),
      }),
    output: child.output,
    exited: child.exited,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/** Follows the relay's redirect and sends the provider's form: the last page, or what the provider answered. */
export async function chooseAtProvider(
  dev: DevRelayProcess,
  redirect: Response,
  form: Readonly<Record<string, string>>,
): Promise<Response> {
  const response = await dev.askProvider(redirect.headers.get('location') ?? '', {
    method: 'POST',
    body: new URLSearchParams({ ...form }),
  });
  const location = response.headers.get('location');
  return location === null ? response : dev.ask(location);
}
