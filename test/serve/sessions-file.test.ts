/** A relay with a sessions file: it is killed or restarted at every step, and no sign-in is lost. Real processes. */
import { describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  acknowledge,
  pollOnce,
  pollUntilDone,
  refresh,
  start,
  startRequest,
} from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { findFreePort, NODE, runChild } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { launchRelay, MAIN, ROOT, RUNTIMES, runRelay, startRelay } from '../kit/relay.ts';
import { openFile } from '../kit/stores.ts';
import { bringCode, makeCode, startExchanging } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const folder = newFolder();
let files = 0;

/** A relay that can be ended and started again, at the same address and with the same file. */
async function startWithFile(command?: readonly string[]) {
  files += 1;
  const provider = startTokenEndpoint();
  const env = { SESSIONS_FILE: join(folder, `${files}.db`), MAL_TOKEN_URL: provider.tokenUrl };
  const port = await findFreePort();
  const begin = (fault?: string) =>
    startRelay(env, { port, ...(command && { command }), ...(fault && { fault }) });
  let relay = await begin();
  return {
    env,
    provider,
    now: () => relay,
    async restart(signal: NodeJS.Signals = 'SIGKILL', fault?: string) {
      await relay.stop(signal);
      relay = await begin(fault);
      return relay;
    },
  };
}

describe.concurrent('killed with -9', () => {
  test('after each step of a sign-in: the device gets its tokens, one code is sent', async () => {
    const host = await startWithFile();
    const { session, state } = await start(host.now(), 'mal', { ack: true });
    await host.restart();
    expect((await host.now().ask(`/auth/mal?state=${state}`)).status).toBe(302);
    await host.restart();
    const code = makeCode();
    expect((await bringCode(host.now(), state, code)).status).toBe(200);
    await host.restart();
    expect(await (await pollOnce(host.now(), session)).json()).toEqual(tokensFor(code));
    await host.restart();
    // Not acknowledged, so it may ask again.
    expect(await (await pollOnce(host.now(), session)).json()).toEqual(tokensFor(code));
    expect((await acknowledge(host.now(), session)).status).toBe(204);
    await host.restart();
    expect((await pollOnce(host.now(), session)).status).toBe(410);
    expect(host.provider.requestsFor(code)).toBe(1);
  });

  test('during an exchange: the code is sent once, the device gets exchange_failed', async () => {
    const host = await startWithFile();
    const exchange = await startExchanging(host.now(), host.provider);
    const { session, code, page } = exchange;
    // The lease has ended.
    await host.restart('SIGKILL', 'clock a minute ahead');
    exchange.release();
    expect(await page).toBe('cut');
    expect(await pollUntilDone([host.now()], session)).toEqual({ error: 'exchange_failed' });
    expect(host.provider.requestsFor(code)).toBe(1);
  });

  test('after a refresh whose answer was lost: the single-use token is not sent again', async () => {
    const host = await startWithFile();
    const token = makeCode();
    const first = await refresh(host.now(), token);
    await host.restart();
    expect((await refresh(host.now(), token)).body).toEqual(first.body);
    expect(host.provider.requestsFor(token)).toBe(1);
  });
});

describe.concurrent('a second relay on the same file', () => {
  test('waits for the first to end, and takes over its sign-ins', async () => {
    const host = await startWithFile();
    const { session, state } = await start(host.now());
    const second = await launchRelay(host.env);
    await host.now().stop('SIGTERM');
    await second.waitForEvent('listening');
    const code = makeCode();
    await bringCode(second, state, code);
    expect(await pollUntilDone([second], session)).toEqual(tokensFor(code));
  });

  test.each(RUNTIMES)('on %s is refused by name if the first keeps running', async (_, command) => {
    const host = await startWithFile();
    const env = { OAUTH_BASE_URL: 'http://127.0.0.1', MAL_CLIENT_ID: 'mal-client', PORT: '0' };
    const refused = await runRelay({ ...host.env, ...env }, { command });
    expect(refused.output).toContain(
      `SESSIONS_FILE ${host.env.SESSIONS_FILE} is used by another relay`,
    );
    expect(refused.exitCode).toBe(1);
  });
});

/** Takes from root the right to write where the mode of a folder forbids it. */
const HELD_TO_MODES = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override'] : [];

test.each<[string, (path: string) => unknown, string, runs?: string[][]]>([
  ['that is damaged', (path) => writeFileSync(path, 'no database '.repeat(500)), ' is damaged'],
  ['that is a folder', mkdirSync, ' is not a file'],
  [
    'in a read-only folder',
    (path) => {
      mkdirSync(path, { mode: 0o500 });
      return join(path, 'sessions.db');
    },
    ' exists but is not writable (EACCES): give it to the user of the relay',
  ],
  [
    'of another user',
    (path) => writeFileSync(path, '', { mode: 0o400 }),
    ' may not be written by this user (EACCES)',
    [[], ['check', '--settings']],
  ],
])('a file %s ends a start as a wrong setting does', async (name, prepare, why, runs = [[]]) => {
  const path = join(folder, name);
  const other = prepare(path);
  const SESSIONS_FILE = typeof other === 'string' ? other : path;
  const env = { SESSIONS_FILE, OAUTH_BASE_URL: 'http://127.0.0.1', PORT: '0' };
  for (const args of runs) {
    const command = [...HELD_TO_MODES, process.execPath, MAIN, ...args];
    const { exitCode, output } = await runRelay(env, { command });
    expect(exitCode).toBe(78);
    expect(output).toContain(path + why);
  }
});

const ON_NODE = [NODE, `${ROOT}dist/cli/main.js`];

test('on Node: as on Bun if it has SQLite, otherwise refused like a wrong setting', async () => {
  const asked = await runChild([NODE, '-p', 'require("node:module").isBuiltin("node:sqlite")']);
  if (asked.output.trim() === 'true') {
    const host = await startWithFile(ON_NODE);
    const { session } = await start(host.now());
    expect((await pollOnce(await host.restart(), session)).status).toBe(204);
  } else {
    const env = { SESSIONS_FILE: join(folder, 'node.db') };
    const { exitCode, output } = await runRelay(env, { command: ON_NODE });
    expect(output).toContain('needs Bun, or Node 22.13 or newer');
    expect(exitCode).toBe(78);
  }
});

const onSmallDisk = test.if(
  has('Linux namespaces', 'a relay whose disk is full refuses starts until there is room'),
);

onSmallDisk('a full disk at any time: starts get 503, /ready says why, it recovers', async () => {
  const small = join(folder, 'small');
  mkdirSync(small);
  const empty = join(folder, 'empty.db');
  (await openFile(empty)).close();
  // A disk of its own, which only this process and its children see, and which is full.
  const script = `mount -t tmpfs -o size=400k,mode=700 none ${small}
      cp ${empty} ${small}/sessions.db && { cat /dev/zero > ${small}/filler || true; } && exec "$@"`;
  await using relay = await startRelay(
    { SESSIONS_FILE: join(small, 'sessions.db'), START_BURST: '100000', MAX_SESSIONS: '100000' },
    {
      port: await findFreePort(),
      command: [
        ...['unshare', '--map-root-user', '--mount', 'sh', '-c', script, 'sh'],
        ...[process.execPath, MAIN],
      ],
    },
  );
  const tryStart = async () => (await relay.ask('/auth/start', startRequest())).status;
  const expectFull = async () => {
    const ready = await relay.ask('/ready');
    expect(ready.status).toBe(503);
    const text = 'SESSIONS_FILE cannot be written: the disk is full';
    expect(await ready.text()).toContain(text);
  };
  // Before any device has started a sign-in.
  await expectFull();
  const filler = `/proc/${relay.pid}/root${small}/filler`;
  const untilReady = async () => {
    rmSync(filler);
    await pollUntil('it is ready', async () => (await relay.ask('/ready')).status === 200);
  };
  await untilReady();
  const { session } = await start(relay);
  writeFileSync(filler, '');
  // Whatever is left.
  expect(() => appendFileSync(filler, Buffer.alloc(1 << 20))).toThrow('ENOSPC');
  await pollUntil('starts are refused', async () => (await tryStart()) === 503);
  await expectFull();
  expect((await pollOnce(relay, session)).status).toBe(204);
  await untilReady();
  expect(await tryStart()).toBe(200);
  expect(await relay.waitForEvents('store_accepts', 2)).toHaveLength(2);
  const refusal = { reason: 'SQLITE_FULL' };
  expect(relay.events('store_refuses')).toMatchObject([refusal, refusal]);
});
