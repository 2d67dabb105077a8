/** What SIGHUP reads again while the relay runs (docs/rotating.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reloadAtSignal } from '../../src/server/reload.ts';
import { runTurns } from '../kit/clock.ts';
import { poll, refresh, start } from '../kit/device.ts';
import { TERMINAL_CHECK_MS } from '../kit/limits.ts';
import { findFreePort } from '../kit/process.ts';
import { discoveryDocumentOf, serveUpstream, startSilentIssuer } from '../kit/provider.ts';
import { startRedis } from '../kit/redis/server.ts';
import {
  buildForNode,
  launchRelay,
  MAIN,
  type RelayProcess,
  RUNTIMES,
  startRelay,
} from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { createTestService, SETTINGS } from '../kit/service.ts';
import { CTRL_C, startInTerminal } from '../kit/terminal.ts';
import { bringCode, bringCodeWhenPossible, makeCode, startWhenPossible } from '../kit/user.ts';
import { createGate, pollUntil } from '../kit/wait.ts';

setDefaultTimeout(30_000);
await buildForNode();
const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-reload-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const newSecret = () => plantSecret(`a-client-secret-${crypto.randomUUID()}`);

function writeSecret(content: string): string {
  made += 1;
  const path = join(folder, String(made));
  writeFileSync(path, content);
  return path;
}

/** A token endpoint that can hold its requests, and the secrets that it received. */
function serveProvider() {
  const gate = createGate();
  const upstream = serveUpstream(async () => {
    await gate.pass();
    return Response.json({ access_token: newSecret() });
  });
  const secrets = () =>
    upstream.requests.map(({ body }) => new URLSearchParams(body).get('client_secret'));
  return { ...upstream, gate, secrets };
}

/** Sends SIGHUP, and waits until the relay has said what came of it. */
async function reload(relay: RelayProcess): Promise<unknown> {
  const count = relay.events('secrets_reloaded').length;
  let seen = 0;
  process.kill(relay.pid, 'SIGHUP');
  const done = await relay.waitForEvent(
    ({ event }) => event === 'secrets_reloaded' && ++seen > count,
  );
  return done.renewed;
}

async function signIn(relay: RelayProcess): Promise<number> {
  const { session, state } = await start(relay);
  await bringCode(relay, state, makeCode());
  return (await poll(relay, session)).status;
}

test('the admin token: the old one gets a 401 from then on', async () => {
  const adminPort = await findFreePort();
  const [before, after] = [newSecret(), newSecret()];
  const ADMIN_TOKEN_FILE = writeSecret(before);
  const relay = await startRelay({ ADMIN_PORT: String(adminPort), ADMIN_TOKEN_FILE });
  const statuses = () =>
    Promise.all(
      [before, after].map(async (token) => {
        const headers = { Authorization: `Bearer ${token}` };
        return (await fetch(`http://127.0.0.1:${adminPort}/metrics`, { headers })).status;
      }),
    );
  expect(await statuses()).toEqual([200, 401]);
  expect(await reload(relay)).toEqual([]);
  writeFileSync(ADMIN_TOKEN_FILE, `${after}\n`);
  expect(await reload(relay)).toEqual(['ADMIN_TOKEN_FILE']);
  expect(await statuses()).toEqual([401, 200]);
  // Too short: the relay keeps requiring the last one.
  writeFileSync(ADMIN_TOKEN_FILE, 'short\n');
  process.kill(relay.pid, 'SIGHUP');
  const { setting } = await relay.waitForEvent('secrets_not_reloaded');
  expect(setting).toBe('ADMIN_TOKEN');
  expect(await statuses()).toEqual([401, 200]);
  await relay.stop();
});

describe.each(RUNTIMES)('the client secret, on %s', (_, command) => {
  test('what is in progress keeps the old one, what comes after has the new one, and no poll ends', async () => {
    const [before, after] = [newSecret(), newSecret()];
    using provider = serveProvider();
    const MAL_CLIENT_SECRET_FILE = writeSecret(before);
    const env = { MAL_TOKEN_URL: provider.url, MAL_CLIENT_SECRET_FILE, START_BURST: '9' };
    const relay = await startRelay(env, { command });
    const held = provider.gate.close();
    const [first, second] = [await start(relay), await start(relay)];
    const polls = [first, second].map(({ session }) => poll(relay, session));
    await relay.untilParked(2);
    const exchanging = bringCode(relay, first.state, makeCode());
    await held.arrived;
    writeFileSync(MAL_CLIENT_SECRET_FILE, `${after}\n`);
    expect(await reload(relay)).toEqual(['MAL_CLIENT_SECRET_FILE']);
    held.release();
    expect((await exchanging).status).toBe(200);
    expect((await bringCode(relay, second.state, makeCode())).status).toBe(200);
    expect((await Promise.all(polls)).map(({ status }) => status)).toEqual([200, 200]);
    await refresh(relay, newSecret());
    expect(provider.secrets()).toEqual([before, after, after]);
    expect(await relay.stop()).toBe(0);
  });

  test.each([
    ['missing', undefined, 'can be read (ENOENT)'],
    ['empty', '', 'is not empty'],
    ['of two lines', 'one\ntwo\n', 'must not contain a line break'],
  ])('a file that is %s: the old one stays, and the log says so', async (_, content, problem) => {
    const before = newSecret();
    using provider = serveProvider();
    const MAL_CLIENT_SECRET_FILE = writeSecret(before);
    const env = { MAL_TOKEN_URL: provider.url, MAL_CLIENT_SECRET_FILE };
    const relay = await startRelay(env, { command });
    if (content === undefined) rmSync(MAL_CLIENT_SECRET_FILE);
    else writeFileSync(MAL_CLIENT_SECRET_FILE, content);
    process.kill(relay.pid, 'SIGHUP');
    const event = await relay.waitForEvent('secrets_not_reloaded');
    expect(event).toMatchObject({
      level: 'warning',
      setting: expect.stringContaining('MAL_CLIENT_SECRET'),
      problem: expect.stringContaining(problem),
    });
    expect(await signIn(relay)).toBe(200);
    expect(provider.secrets()).toEqual([before]);
    const after = newSecret();
    writeFileSync(MAL_CLIENT_SECRET_FILE, after);
    expect(await reload(relay)).toEqual(['MAL_CLIENT_SECRET_FILE']);
    expect(await signIn(relay)).toBe(200);
    expect(provider.secrets()).toEqual([before, after]);
    await relay.stop();
  });

  test('the picture of LOGO is not read again: a relay whose picture is gone takes a new secret', async () => {
    const after = newSecret();
    using provider = serveProvider();
    const MAL_CLIENT_SECRET_FILE = writeSecret(newSecret());
    const LOGO = writeSecret('<svg xmlns="http://www.w3.org/2000/svg"/>');
    const env = { MAL_TOKEN_URL: provider.url, MAL_CLIENT_SECRET_FILE, LOGO };
    const relay = await startRelay(env, { command });
    rmSync(LOGO);
    writeFileSync(MAL_CLIENT_SECRET_FILE, after);
    expect(await reload(relay)).toEqual(['MAL_CLIENT_SECRET_FILE']);
    expect(await signIn(relay)).toBe(200);
    expect(provider.secrets()).toEqual([after]);
    expect((await relay.ask('/logo')).status).toBe(200);
    await relay.stop();
  });

  test('a byte order mark before it, as some editors write one, is not part of it', async () => {
    const secret = newSecret();
    using provider = serveProvider();
    const MAL_CLIENT_SECRET_FILE = writeSecret(`\uFEFF${secret}\n`);
    const relay = await startRelay(
      { MAL_TOKEN_URL: provider.url, MAL_CLIENT_SECRET_FILE },
      { command },
    );
    expect(await signIn(relay)).toBe(200);
    expect(provider.secrets()).toEqual([secret]);
    await relay.stop();
  });

  test('many signals at once: the last content of the file is used', async () => {
    using provider = serveProvider();
    const MAL_CLIENT_SECRET_FILE = writeSecret(newSecret());
    const relay = await startRelay(
      { MAL_TOKEN_URL: provider.url, MAL_CLIENT_SECRET_FILE },
      { command },
    );
    let last = '';
    for (let times = 0; times < 20; times += 1) {
      last = newSecret();
      writeFileSync(MAL_CLIENT_SECRET_FILE, last);
      process.kill(relay.pid, 'SIGHUP');
    }
    await reload(relay);
    expect(await signIn(relay)).toBe(200);
    expect(provider.secrets()).toEqual([last]);
    await relay.stop();
  });
});

test('a signal while the reload before it waits for Redis: the files are read once more', async () => {
  let reads = 0;
  const answered = Promise.withResolvers<void>();
  const nothing = { renewed: [], problems: [] };
  const others = process.listeners('SIGHUP');
  const readAgain = () => {
    reads += 1;
    return { ok: true as const, settings: SETTINGS, warnings: [] };
  };
  const service = {
    ...createTestService(),
    renewSecrets: () => answered.promise.then(() => nothing),
  };
  reloadAtSignal(readAgain, () => {}).start(service, undefined);
  try {
    for (let signals = 0; signals < 3; signals += 1) process.emit('SIGHUP');
    expect(reads).toBe(1);
    answered.resolve();
    await runTurns();
    expect(reads).toBe(2);
  } finally {
    process.removeAllListeners('SIGHUP');
    for (const each of others) process.on('SIGHUP', each);
  }
});

describe('a provider that is discovered', () => {
  const env = (issuer: string, ACME_CLIENT_SECRET_FILE: string) => ({
    ...{ PROVIDERS: 'acme', MAL_CLIENT_ID: '', ACME_CLIENT_ID: 'acme-client' },
    ...{ ACME_ISSUER: issuer, ACME_CLIENT_SECRET_FILE },
  });

  test('gets the new secret, and keeps its endpoints', async () => {
    using acme = serveUpstream(({ url, method }) =>
      Response.json(
        method === 'GET' ? discoveryDocumentOf(new URL(url).origin) : { access_token: newSecret() },
      ),
    );
    const file = writeSecret(newSecret());
    const relay = await startRelay(env(new URL(acme.url).origin, file));
    const after = newSecret();
    writeFileSync(file, after);
    expect(await reload(relay)).toEqual(['ACME_CLIENT_SECRET_FILE']);
    const { state, session } = await start(relay, 'acme');
    await relay.ask(`/auth/acme/callback?state=${state}&code=${makeCode()}`);
    expect((await poll(relay, session)).status).toBe(200);
    const basic = atob(acme.requests.at(-1)?.headers.get('authorization')?.slice(6) ?? '');
    expect(basic).toBe(`acme-client:${after}`);
    await relay.stop();
  });

  test('a signal during the start does not end the process, and counts once it has started', async () => {
    using issuer = startSilentIssuer();
    const file = writeSecret(newSecret());
    const relay = await launchRelay(env(issuer.issuer, file));
    await issuer.asked;
    writeFileSync(file, newSecret());
    process.kill(relay.pid, 'SIGHUP');
    issuer.answer();
    expect((await relay.waitForEvent('secrets_reloaded')).renewed).toEqual([
      'ACME_CLIENT_SECRET_FILE',
    ]);
    await relay.waitForEvent('listening');
    expect(await relay.stop()).toBe(0);
  });
});

describe('the password of Redis', () => {
  const [before, after] = [1, 2].map((which) => plantSecret(`a-redis-password-of-reload-${which}`));

  async function startWithRedis() {
    const redis = await startRedis({ user: { name: 'relay', password: before ?? '' } });
    const urlWith = (password = '') => `redis://relay:${password}@127.0.0.1:${redis.port}`;
    const REDIS_URL_FILE = writeSecret(urlWith(before));
    const provider = serveProvider();
    const relay = await startRelay({ REDIS_URL_FILE, MAL_TOKEN_URL: provider.url });
    return { redis, urlWith, file: REDIS_URL_FILE, provider, relay };
  }

  test('two at a time, then the new one alone: no sign-in is lost, although all connections are closed', async () => {
    const { redis, urlWith, file, provider, relay } = await startWithRedis();
    await redis.cli('ACL', 'SETUSER', 'relay', `>${after}`);
    writeFileSync(file, urlWith(after));
    const { state, session } = await start(relay);
    expect(await reload(relay)).toEqual(['REDIS_URL_FILE']);
    await redis.cli('ACL', 'SETUSER', 'relay', `<${before}`);
    await redis.cli('CLIENT', 'KILL', 'USER', 'relay');
    await bringCodeWhenPossible([relay], state, makeCode());
    let response = await poll(relay, session);
    while (response.status === 204) response = await poll(relay, session);
    expect(response.status).toBe(200);
    await relay.stop();
    provider.stop();
    await redis.stop();
  });

  test('one that Redis refuses: the old one stays', async () => {
    const { redis, urlWith, file, provider, relay } = await startWithRedis();
    writeFileSync(file, urlWith(plantSecret('a-redis-password-that-is-wrong')));
    expect(await reload(relay)).toEqual([]);
    expect(relay.events('secrets_not_reloaded')).toMatchObject([
      { setting: 'REDIS_URL_FILE', problem: 'the user or the password is wrong (WRONGPASS)' },
    ]);
    await redis.cli('CLIENT', 'KILL', 'USER', 'relay');
    expect((await startWhenPossible(relay)).session).not.toBe('');
    await relay.stop();
    provider.stop();
    await redis.stop();
  });

  test('of another server: it needs a restart, and the log says so', async () => {
    const { redis, file, provider, relay } = await startWithRedis();
    writeFileSync(file, `redis://relay:${before}@127.0.0.2:${redis.port}`);
    expect(await reload(relay)).toEqual([]);
    expect(relay.events('secrets_not_reloaded')).toMatchObject([
      { setting: 'REDIS_URL_FILE', problem: expect.stringContaining('restart the relay') },
    ]);
    await relay.stop();
    provider.stop();
    await redis.stop();
  });
});

describe('a relay in a terminal', () => {
  const MAL_CLIENT_SECRET_FILE = writeSecret(newSecret());

  async function startThere() {
    const env = { PORT: '0', MAL_CLIENT_ID: 'id', MAL_CLIENT_SECRET_FILE };
    const terminal = startInTerminal([process.execPath, MAIN], { env });
    await terminal.untilShown('listening');
    return terminal;
  }

  test('reads its files again at SIGHUP', async () => {
    const terminal = await startThere();
    process.kill(terminal.pid, 'SIGHUP');
    await terminal.untilShown('secrets_reloaded');
    terminal.type(CTRL_C);
    expect(await terminal.exited).toBe(0);
  });

  test('that lives on without it reads its files at SIGHUP', async () => {
    const [log, pid] = [join(folder, 'log'), join(folder, 'pid')];
    // In a session of its own, so that the terminal that is closed sends it no signal.
    const relayLine = `echo $$ > ${pid}; exec "$@" > ${log} 2>&1`;
    // Without the redirection a command in the background has no terminal.
    const line = `exec 3<&0; setsid sh -c '${relayLine}' sh "$@" <&3 & wait`;
    const env = { PORT: '0', MAL_CLIENT_ID: 'id', MAL_CLIENT_SECRET_FILE };
    const terminal = startInTerminal(['sh', '-c', line, 'sh', process.execPath, MAIN], { env });
    const untilLogged = (event: string) =>
      pollUntil(event, () => existsSync(log) && readFileSync(log, 'utf8').includes(event));
    await untilLogged('listening');
    terminal.close();
    await terminal.exited;
    const relay = Number(readFileSync(pid, 'utf8'));
    try {
      // It looks twice.
      await Bun.sleep(3 * TERMINAL_CHECK_MS);
      process.kill(relay, 'SIGHUP');
      await untilLogged('secrets_reloaded');
    } finally {
      process.kill(relay, 'SIGKILL');
    }
  });

  test('ends when its terminal is closed, which is a SIGHUP too', async () => {
    const terminal = await startThere();
    terminal.close();
    expect(await terminal.exited).toBe(0);
  });
});
