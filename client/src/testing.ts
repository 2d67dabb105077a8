/// <reference types="node" />
/** A relay and a provider for an app's own tests: `sign-in-relay dev`, of the package sign-in-relay. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { attempt } from './errors.ts';
import type { Prompt, SessionState } from './index.ts';

export interface DevRelayOptions {
  /** The names of the services. Default: `['dev']`. */
  readonly services?: readonly string[] | undefined;
  /** Whether the app may, or must, exchange the code itself. Default: `no`. */
  readonly blind?: 'no' | 'can' | 'must' | undefined;
}

/** The sign-in to act on: a session, its prompt, or its link. */
export type DevUser = string | Pick<Prompt, 'link'> | { readonly state: SessionState };

export interface DevRelay {
  /** The base URL of the relay, for `relay` of a session. */
  readonly url: string;
  /** Lists the endings of a sign-in, and shows a television at `/tv`. */
  readonly providerUrl: string;
  /**
   * How the next sign-in ends, such as 'deny', 'cut-off' or 'refresh-rotates'. `seconds`: how
   * long, for those that take time. Rejects for an unknown ending, with the known ones.
   */
  next(ending: string, options?: { readonly seconds?: number }): Promise<void>;
  /**
   * The user opens the link, and signs in or does what was planned. Default: the link of the
   * sign-in that was started last. Waits for a link for 4 s.
   */
  approve(user?: DevUser): Promise<void>;
  /** Like `approve`, but the user declines. */
  decline(user?: DevUser): Promise<void>;
  /** Drops what is planned, and sign-ins that wait for a user. Call it between tests. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

const STARTED_WITHIN_MS = 20_000;
/** Vitest and Jest end a test after 5 s: it must fail with the reason before that. */
const LINK_WITHIN_MS = 4_000;
const RETRY_MS = 50;

/** The real ones, even while a test has fake timers. */
const { setTimeout } = globalThis;
const { now } = Date;

function linkOf(user: DevUser): string {
  if (typeof user === 'string') return user;
  if ('link' in user) return user.link;
  const { state } = user;
  if ('prompt' in state && state.prompt) return state.prompt.link;
  const reason = 'error' in state && state.error ? `, ${state.error.detail}` : '';
  throw new Error(`The session has no link: it is ${state.status}${reason}`);
}

/** Resolves the package from the app's folder, then from this module: in a monorepo they may differ. */
function findPackage(): string {
  for (const from of [join(process.cwd(), 'test.js'), import.meta.url]) {
    const path = attempt(() => createRequire(from).resolve('sign-in-relay/package.json'));
    if (path) return path;
  }
  throw new Error('The package sign-in-relay is not installed: npm i -D sign-in-relay');
}

/** Uses node:http, because happy-dom and others replace `fetch` by one that obeys CORS. */
const send = (url: URL, method: string, body?: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' };
    const sent = request(url, { method, headers }, async (response) => {
      const text = (await response.setEncoding('utf8').toArray()).join('');
      if (response.statusCode === 200) resolve();
      else reject(new Error(text));
    });
    sent.on('error', reject).end(body);
  });

/** Rejects if the package sign-in-relay is not installed, or if the relay does not start. */
export async function startDevRelay(options: DevRelayOptions = {}): Promise<DevRelay> {
  const { services = ['dev'], blind = 'no' } = options;
  const args = ['--port', '0', '--service', services.join(), '--blind', blind];
  const main = join(dirname(findPackage()), 'dist/cli/main.js');
  const child = spawn(process.execPath, [main, 'dev', ...args], {
    // The app's tests may end without a call of `stop`: the dev relay ends with the channel.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const stdout = child.stdout as Socket;
  const exited = once(child, 'exit');
  const kill = () => void child.kill();
  exited.catch(() => {});
  const timer = setTimeout(kill, STARTED_WITHIN_MS);
  const addresses: string[] = [];
  for await (const line of createInterface({ input: stdout })) {
    addresses.push(...(/^ *(?:The relay|How sign-ins end) +(\S+)/.exec(line)?.slice(1) ?? []));
    if (line.includes('Ctrl-C')) break;
  }
  clearTimeout(timer);
  // Keep reading, or a full pipe would block the dev relay.
  stdout.resume();
  const [url, providerUrl] = addresses;
  if (!url || !providerUrl) throw new Error('The dev relay did not start');

  const ask = (path: string, body: object) =>
    send(new URL(path, providerUrl), 'POST', JSON.stringify(body));

  async function open(user: DevUser | undefined, ending?: string): Promise<void> {
    const untilMs = now() + LINK_WITHIN_MS;
    for (;;) {
      try {
        return await ask('/open', { link: user && linkOf(user), ending });
      } catch (error) {
        if (now() > untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  // A test that fails before it stops the relay must not keep the process running.
  child.unref();
  // Bun's has none.
  child.channel?.unref?.();
  stdout.unref();

  async function stop(): Promise<void> {
    child.ref();
    // First let the app's last request arrive, such as an acknowledgement, which it would repeat for a minute.
    await send(new URL('/health', url), 'GET').catch(() => {});
    kill();
    await exited;
  }

  return {
    url,
    providerUrl: providerUrl.slice(0, -1),
    next: (ending, { seconds } = {}) => ask('/next', { ending, seconds }),
    approve: (user) => open(user),
    decline: (user) => open(user, 'deny'),
    reset: () => send(new URL('/next', providerUrl), 'DELETE'),
    stop,
  };
}
