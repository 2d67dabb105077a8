/// <reference types="node" />
/** A relay and a provider for an app's own tests: `sign-in-relay dev`, of the package sign-in-relay. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

export interface DevRelayOptions {
  /** The provider has the next one. 0, the default: two that are free. */
  readonly port?: number | undefined;
  /** What the app calls the services. `['dev']` if not given. */
  readonly services?: readonly string[] | undefined;
  /** Whether the app may or must exchange the code itself. `no` if not given. */
  readonly blind?: 'no' | 'can' | 'must' | undefined;
}

export interface DevRelay {
  /** For `relay` of a session. */
  readonly url: string;
  /** Lists the endings of a sign-in, and shows a television at `/tv`. */
  readonly providerUrl: string;
  /**
   * How the next sign-in ends, such as 'deny', 'cut-off' or 'refresh-rotates'. `seconds`: how
   * long, for those that take time. Rejects for an unknown ending, with the known ones.
   */
  next(ending: string, options?: { readonly seconds?: number }): Promise<void>;
  /** The user opens the latest link, and signs in or does what was planned. Waits for a link for 5 s. */
  approve(): Promise<void>;
  stop(): Promise<void>;
}

const STARTED_WITHIN_MS = 20_000;
const LINK_WITHIN_MS = 5_000;
const RETRY_MS = 50;

/** The address on the line that begins so. */
function after(label: string, output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const line = lines.find((each) => each.startsWith(label)) ?? '';
  return line.slice(label.length).trim().split(' ')[0] ?? '';
}

/** Rejects if the package sign-in-relay is not installed, or if the relay does not start. */
export async function startDevRelay(options: DevRelayOptions = {}): Promise<DevRelay> {
  const { port = 0, services = ['dev'], blind = 'no' } = options;
  const args = ['--port', `${port}`, '--service', services.join(), '--blind', blind];
  // The current folder is the app's.
  const find = createRequire(join(process.cwd(), 'test.js'));
  const main = join(dirname(find.resolve('sign-in-relay/package.json')), 'dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'dev', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = () => void child.kill();
  // An app's tests end also if they do not stop it.
  process.once('exit', kill);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve).once('error', reject);
  }).finally(() => process.off('exit', kill));
  const timer = setTimeout(kill, STARTED_WITHIN_MS);
  const started = new Promise<string>((resolve) => {
    let output = '';
    child.stdout.on('data', (part) => {
      output += part;
      if (!output.includes('Ctrl-C')) return;
      // Read on, so that it can write.
      child.stdout.removeAllListeners('data').resume();
      resolve(output);
    });
  });
  const output = await Promise.race([started, exited]).finally(() => clearTimeout(timer));
  if (typeof output !== 'string') throw new Error('The dev relay did not start');
  const url = after('The relay', output);
  const providerUrl = after('How sign-ins end', output);

  async function ask(path: string, body: object): Promise<Response> {
    return fetch(new URL(path, providerUrl), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  async function stop(): Promise<void> {
    kill();
    await exited;
  }

  return {
    url,
    providerUrl: providerUrl.slice(0, -1),
    async next(ending, { seconds } = {}) {
      const response = await ask('/next', { ending, seconds });
      if (!response.ok) throw new Error(await response.text());
    },
    async approve() {
      const untilMs = Date.now() + LINK_WITHIN_MS;
      for (;;) {
        const response = await ask('/open', {});
        if (response.ok) return;
        if (Date.now() > untilMs) throw new Error(await response.text());
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    },
    stop,
  };
}
