/** A log that cannot be written: whoever reads it has left, stands still, or its disk is full. */
import { afterAll, describe, expect, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { LOG_BACKLOG_BYTES } from '../../src/limits.ts';
import { findFreePort } from '../support/free-port.ts';
import { pollUntil } from '../support/redis/poll-until.ts';
import { runRelay } from '../support/run-relay.ts';
import { startSession } from '../support/wire.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A relay whose output the test may close, or leave unread. */
async function start(stdout: 'pipe' | number = 'pipe') {
  const port = await findFreePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH ?? '',
      OAUTH_BASE_URL: baseUrl,
      HOST: '127.0.0.1',
      PORT: String(port),
      MAL_CLIENT_ID: 'mal-client',
      LOG_LEVEL: 'debug',
      START_BURST: '1000',
    },
    stdio: ['ignore', stdout, 'pipe'],
  });
  children.push(child);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  let complaints = '';
  child.stderr?.on('data', (data: Buffer) => {
    complaints += data.toString();
  });
  await pollUntil('the relay answers', () => fetch(`${baseUrl}/health`).catch(() => undefined));
  return {
    child,
    baseUrl,
    exited,
    complaints: () => complaints,
    /** Each is a line of the log. */
    async signIn(times: number): Promise<void> {
      for (let count = 0; count < times; count += 1) await startSession(baseUrl, 'mal');
    },
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

describe('the reader leaves', () => {
  test('the relay says so once, and goes on', async () => {
    const relay = await start();
    relay.child.stdout?.destroy();
    await relay.signIn(10);
    expect(relay.complaints()).toBe('The log cannot be written (EPIPE); the relay goes on.\n');
    expect(await relay.stop()).toBe(0);
  });

  test('and so does the reader of its complaints: it goes on all the same', async () => {
    const relay = await start();
    relay.child.stdout?.destroy();
    relay.child.stderr?.destroy();
    await relay.signIn(10);
    expect(await relay.stop()).toBe(0);
  });

  test('--help to nobody is no error', async () => {
    const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let complaints = '';
    child.stderr.on('data', (data: Buffer) => {
      complaints += data.toString();
    });
    const [code] = await once(child, 'close');
    expect([code, complaints]).toEqual([0, '']);
  });

  test('and --help to somebody is whole', async () => {
    expect((await runRelay({}, ['--help'])).output).toContain('AUTHORIZE_PARAMS');
  });
});

test('a full disk: the relay says so once, and goes on', async () => {
  const full = openSync('/dev/full', 'w');
  const relay = await start(full);
  closeSync(full);
  await relay.signIn(10);
  expect(relay.complaints()).toBe('The log cannot be written (ENOSPC); the relay goes on.\n');
  expect(await relay.stop()).toBe(0);
});

describe('the reader stands still', () => {
  /** More than waits to be written, and than the pipe and its reader hold; a poll is two lines of 100 characters. */
  async function overfill({ baseUrl, complaints }: Awaited<ReturnType<typeof start>>) {
    const poll = () => fetch(`${baseUrl}/auth/result?session=nobody&wait=0`);
    for (let sent = 0; sent < LOG_BACKLOG_BYTES / 20 && complaints() === ''; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, poll));
    }
    expect(complaints()).toBe('The log cannot be written (nobody reads it); the relay goes on.\n');
  }

  test('lines beyond a limit are left out, and counted once it reads again', async () => {
    const relay = await start();
    await overfill(relay);
    await relay.signIn(1);
    if (relay.child.stdout === null) throw new Error('no output');
    const lines = createInterface(relay.child.stdout);
    const incomplete = new Promise<{ lostLines: number }>((resolve) => {
      lines.on('line', (line) => {
        const event = JSON.parse(line) as { event: string; lostLines: number };
        if (event.event === 'log_incomplete') resolve(event);
      });
    });
    expect((await incomplete).lostLines).toBeGreaterThan(0);
    expect(await relay.stop()).toBe(0);
  });

  test('the relay ends when it is told to', async () => {
    const relay = await start();
    await overfill(relay);
    expect(await relay.stop()).toBe(0);
  });
});
