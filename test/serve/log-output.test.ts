/** A log that cannot be written: its reader is gone or does not read, or the disk is full. The relay keeps running (docs/operating.md). */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { MAX_BACKLOG_CHARACTERS } from '../../src/log.ts';
import { start, UNKNOWN_SECRET } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { findFreePort, runChild } from '../kit/process.ts';
import { MAIN, untilHealthy } from '../kit/relay.ts';

setDefaultTimeout(30_000);

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** A relay whose output the test may close, or leave unread. */
async function startRelay(stdout: 'pipe' | number = 'pipe') {
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
  await untilHealthy(baseUrl);
  const ask = (path: string, init?: RequestInit) => fetch(`${baseUrl}${path}`, init);
  return {
    child,
    ask,
    complaints: () => complaints,
    /** Each start is a line of the log. */
    async log(lines: number): Promise<void> {
      for (let count = 0; count < lines; count += 1) await start({ ask });
    },
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

const cannotWrite = (why: string) =>
  `The log cannot be written (${why}); the relay keeps running.\n`;

describe('when the reader is gone', () => {
  test('the relay says so once', async () => {
    const relay = await startRelay();
    relay.child.stdout?.destroy();
    await relay.log(10);
    expect(relay.complaints()).toBe(cannotWrite('EPIPE'));
    expect(await relay.stop()).toBe(0);
  });

  test('and the reader of stderr too, it keeps running', async () => {
    const relay = await startRelay();
    relay.child.stdout?.destroy();
    relay.child.stderr?.destroy();
    await relay.log(10);
    expect(await relay.stop()).toBe(0);
  });

  test('--help is no error', async () => {
    const child = spawn(process.execPath, [MAIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let complaints = '';
    child.stderr.on('data', (data: Buffer) => {
      complaints += data.toString();
    });
    const [code] = await once(child, 'close');
    expect([code, complaints]).toEqual([0, '']);
  });
});

const onLinux = test.if(has('Linux', 'when the disk is full, relay and commands say so'));

onLinux('when the disk is full the relay says so once', async () => {
  const full = openSync('/dev/full', 'w');
  const relay = await startRelay(full);
  closeSync(full);
  await relay.log(10);
  expect(relay.complaints()).toBe(cannotWrite('ENOSPC'));
  expect(await relay.stop()).toBe(0);
});

onLinux.each(['--help', '--version', 'providers', 'health'])(
  'when the disk is full %s does not succeed, and says why',
  async (command) => {
    const line = `exec ${process.execPath} ${MAIN} ${command} > /dev/full`;
    const { exitCode, output } = await runChild(['sh', '-c', line], { env: { PORT: '1' } });
    expect([exitCode, output]).toEqual([1, 'The output cannot be written (ENOSPC)\n']);
  },
);

describe('when the reader does not read', () => {
  /** Logs more than the relay, the pipe and the reader hold; a poll is a line of 100 characters. */
  async function overfill({ ask, complaints }: Awaited<ReturnType<typeof startRelay>>) {
    const poll = () => ask(`/auth/result?session=${UNKNOWN_SECRET}&wait=0`);
    for (let sent = 0; sent < MAX_BACKLOG_CHARACTERS / 20 && complaints() === ''; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, poll));
    }
    expect(complaints()).toBe(cannotWrite('its reader has stopped'));
  }

  test('lines beyond a limit are dropped, and their number is logged once it reads again', async () => {
    const relay = await startRelay();
    await overfill(relay);
    await relay.log(1);
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

  test('the relay still ends at SIGTERM', async () => {
    const relay = await startRelay();
    await overfill(relay);
    expect(await relay.stop()).toBe(0);
  });
});
