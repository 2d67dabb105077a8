/** The conformance suite (conformance/README.md) against the relay in each way that it is run. */
import { expect, test } from 'bun:test';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildExecutable } from '../scripts/build.ts';
import { type FaultProxy, startFaultProxy } from './kit/fault-proxy.ts';
import { newFolder } from './kit/folder.ts';
import { forwardedFor, startForwarder } from './kit/forwarder.ts';
import { has, type Need } from './kit/needs.ts';
import { findFreePort, NODE, runChild } from './kit/process.ts';
import { type ProxyName, startProxy } from './kit/proxies.ts';
import { startRedis } from './kit/redis/server.ts';
import { ROOT, startRelay } from './kit/relay.ts';
import { writeCertificate } from './kit/tls.ts';
import { startWorkers } from './kit/workers.ts';

const SUITE = [process.execPath, `${ROOT}conformance/run.ts`];
const LONGEST_MS = 500_000;

type Env = Readonly<Record<string, string>>;

interface Target {
  readonly needs?: readonly Need[];
  /** Options of the suite. */
  readonly options: readonly string[];
  /** Not given: http. */
  readonly scheme?: 'http' | 'https';
  /** Runs once the others have ended: with all at once, a machine of two cores is too slow for the suite. */
  readonly isLater?: true;
  /** Starts it at a port, and resolves once it answers. */
  start(env: Env, port: number): Promise<AsyncDisposable>;
}

/** Everything but `confirm`, which changes what a link does. */
const ALL_EXTENSIONS =
  '--with=user-code,wait,ack,qr,cors,device-grant,services,refresh,revoke,details,challenge,open,progress,cancel';

/** Leaves out the groups that wait until sessions expire. */
const ALL_BUT_EXPIRY = [ALL_EXTENSIONS, '--except=expiry,device-expiry'];

/**
 * What a proxy could break: paths, methods, headers, bodies, pages, and polls that are held. The
 * client addresses are those that connect to the proxy, and each has a rate limit of its own only
 * if the relay reads it from the proxy's header.
 */
const BEHIND_PROXY: Omit<Target, 'start'> = {
  isLater: true,
  scheme: 'https',
  options: [
    ALL_EXTENSIONS,
    '--only=journey,start,authorize,callback,result,paths,methods,unconfigured,rate-limit,races,hold,wait,user-code,cancel,cors,qr,device-grant,device-token',
    '--proxy-address=none',
  ],
};

const TARGETS: Readonly<Record<string, Target>> = {
  // These two are installed (docs/install.md); the targets below run the sources on Bun.
  'executable, on Bun': { options: ALL_BUT_EXPIRY, start: startExecutable },
  // As `npx sign-in-relay` starts it where there is no Bun; test/deploy installs the package.
  'npm package, on Node': {
    options: ALL_BUT_EXPIRY,
    start: (env, port) => startRelay(env, { port, command: [NODE, `${ROOT}dist/cli/main.js`] }),
  },
  'a sessions file': {
    isLater: true,
    options: [
      '--only=journey,result,capabilities,user-code,races,cancel,device-grant,device-token,rate-limit',
    ],
    start: startWithFile,
  },
  'two relays on one Redis': {
    needs: ['Redis'],
    options: ALL_BUT_EXPIRY,
    start: startTwo,
  },
  // The default of 600 s is tested with fake time.
  expiry: {
    options: ['--only=expiry,device-expiry', '--session-seconds=20'],
    start: (env, port) => startRelay(env, { port }),
  },
  confirm: { options: ['--only=confirm'], start: (env, port) => startRelay(env, { port }) },
  // If all that asks the provider gets no answer within 25 s, workerd had too little of the processor,
  // as at 2 % of a core. Its one thread serves all that has arrived before it reads its sockets again,
  // and an exchange waits for that several times: for the connection, the response and its body.
  'Cloudflare Workers': {
    isLater: true,
    // Cloudflare says who the client is, so it is always a valid address.
    options: [
      ALL_EXTENSIONS,
      '--except=expiry,device-expiry,client-address',
      '--proxy-address=none',
    ],
    start: (env, port) => startWorkers(env, { port }),
  },
  'behind nginx': {
    needs: ['nginx', 'OpenSSL'],
    ...BEHIND_PROXY,
    start: startBehind('nginx for one'),
  },
  'behind Caddy': { needs: ['Caddy', 'OpenSSL'], ...BEHIND_PROXY, start: startBehind('Caddy') },
};

function testTargets(targets: readonly (readonly [name: string, target: Target])[]): void {
  for (const [name, target] of targets) {
    const shows = `${name}: the relay does what the protocol says`;
    if (!has(target.needs ?? [], shows)) continue;
    test.concurrent(
      `${name}: no case fails`,
      async () => {
        const { notPassed, ending, exitCode } = await runSuite(target);
        recordCounts(ending);
        expect(notPassed).toEqual([]);
        expect(ending).toMatch(/^\d+ passed, 0 failed/);
        expect(exitCode).toBe(0);
      },
      LONGEST_MS,
    );
  }
}

const [later = [], now = []] = [true, undefined].map((isLater) =>
  Object.entries(TARGETS).filter(([, target]) => target.isLater === isLater),
);

testTargets(now);

// Not concurrent, so the targets below wait for those above.
test('--print-env alone: the environment of a relay at its default port', async () => {
  const { exitCode, output } = await runChild([...SUITE, '--print-env']);
  expect(exitCode).toBe(0);
  expect(output).toStartWith('OAUTH_BASE_URL=http://127.0.0.1:8080\n');
});

test('a case that fails leaves no request behind that could end the suite', async () => {
  await using stack = new AsyncDisposableStack();
  let relayUrl = '';
  let isPolling = false;
  const proxy: FaultProxy = stack.use(
    await startFaultProxy(
      () => relayUrl,
      ({ path, headers }) => {
        if (headers.prefer?.startsWith('respond-async')) isPolling = true;
        if (!isPolling || !path.includes('/callback')) return {};
        // The callback fails the case, and then the poll breaks off that the case would have awaited.
        setImmediate(proxy.cutAll);
        return { losesRequest: true };
      },
    ),
  );
  const suite = [
    ...SUITE,
    `--base-url=${proxy.url}`,
    `--provider-listen=127.0.0.1:${await findFreePort()}`,
    '--only=device-token',
  ];
  const relay = stack.use(
    await startRelay({ ...(await readEnv(suite)), OAUTH_BASE_URL: proxy.url, START_BURST: '1000' }),
  );
  relayUrl = relay.baseUrl;
  const { exitCode, output } = await runChild(suite);
  const { notPassed, ending } = readReport(output);
  expect(notPassed.join('\n')).toContain('Prefer: wait=3');
  expect(ending).toMatch(/^\d+ passed, [1-9]\d* failed/);
  expect(exitCode).toBe(1);
});

testTargets(later);

async function runSuite({ options, scheme = 'http', start }: Target) {
  await using stack = new AsyncDisposableStack();
  const folder = newFolder();
  const [port, unconfiguredPort, providerPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const baseUrl = `${scheme}://127.0.0.1:${port}`;
  const suite = [
    ...SUITE,
    `--base-url=${baseUrl}`,
    `--unconfigured-url=${scheme}://127.0.0.1:${unconfiguredPort}`,
    `--provider-listen=127.0.0.1:${providerPort}`,
    // Fewer than by default: the group that fills the relay ends sooner.
    '--max-sessions=400',
    ...options,
  ];
  const env = await readEnv(suite);
  stack.use(await start({ ...env, OAUTH_BASE_URL: baseUrl }, port));
  stack.use(await start({ ...env, OAUTH_BASE_URL: '' }, unconfiguredPort));

  // The CA of every certificate of the tests.
  const caFile = scheme === 'https' ? (await writeCertificate(folder)).certificateFile : undefined;
  const secretsFile = process.env.RELAY_TEST_SECRETS ?? join(folder, 'secrets.txt');
  const { exitCode, output } = await runChild([...suite, '--secrets-file', secretsFile], {
    env: { CI: process.env.CI ?? '', NODE_EXTRA_CA_CERTS: caFile ?? '' },
  });
  return { exitCode, ...readReport(output) };
}

/** The environment of the relay that the suite expects. */
async function readEnv(suite: readonly string[]): Promise<Env> {
  const { output } = await runChild([...suite, '--print-env']);
  const lines = output.split('\n').filter((line) => line.includes('='));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

/** What the suite reports of cases that did not pass, with their details; and its last line. */
function readReport(output: string) {
  const lines = output.trimEnd().split('\n');
  const ending = lines.at(-1) ?? '';
  let isShown = false;
  const notPassed = lines.slice(0, -1).filter((line) => {
    if (!line.startsWith(' ')) isShown = !/^(pass|disabled) /.test(line);
    return isShown;
  });
  return { ending, notPassed };
}

/** For the last line of `npm test`, which counts the cases too. */
function recordCounts(ending: string): void {
  const { RELAY_TEST_COUNTS } = process.env;
  if (RELAY_TEST_COUNTS) appendFileSync(RELAY_TEST_COUNTS, `${ending}\n`);
}

async function startWithFile(env: Env, port: number): Promise<AsyncDisposable> {
  return startRelay({ ...env, SESSIONS_FILE: join(newFolder(), 'sessions.db') }, { port });
}

const executable = join(newFolder(), 'sign-in-relay');
let built: Promise<void> | undefined;

async function startExecutable(env: Env, port: number) {
  built ??= buildExecutable(executable);
  await built;
  return startRelay(env, { port, command: [executable] });
}

/** One relay behind a proxy as deploy/ configures it. */
function startBehind(name: ProxyName) {
  return async (env: Env, port: number): Promise<AsyncDisposable> => {
    await using stack = new AsyncDisposableStack();
    const trusting = { ...env, TRUSTED_PROXY_CIDRS: '127.0.0.1' };
    const relay = stack.use(await startRelay(trusting));
    stack.use(await startProxy(name, [relay.port], { port }));
    return stack.move();
  };
}

/** The relays trust this source address as a proxy. */
const PROXY_ADDRESS = '127.255.0.2';

/** Two relays on one Redis, behind a load balancer that sends each request to the relay that did not get the one before. */
async function startTwo(env: Env, port: number): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const shared = {
    ...env,
    REDIS_URL: redis.url,
    TRUSTED_PROXY_CIDRS: `${env.TRUSTED_PROXY_CIDRS},${PROXY_ADDRESS}/32`,
  };
  // Both go by the clock of Redis (docs/scaling.md).
  const ahead = { fault: 'clock an hour ahead' };
  const relays = [
    stack.use(await startRelay(shared)),
    stack.use(await startRelay(shared, ahead)),
  ] as const;
  let turn = 0;
  stack.use(
    await startForwarder(port, (request) => ({
      host: '127.0.0.1',
      port: relays[turn++ % relays.length]?.port,
      localAddress: PROXY_ADDRESS,
      headers: { ...request.headers, 'x-forwarded-for': forwardedFor(request) },
    })),
  );
  // A suite that reaches one relay only would test nothing of their store.
  if (env.OAUTH_BASE_URL !== '') {
    stack.defer(() => {
      for (const relay of relays) expect(relay.events('poll_waiting')).not.toEqual([]);
    });
  }
  return stack.move();
}
