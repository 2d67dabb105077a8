/** A log that cannot be written: its reader is gone or does not read, or the disk is full. The relay keeps running (docs/operating.md). */
import { describe, expect, test } from 'bun:test';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { MAX_BACKLOG_CHARACTERS } from '../../src/log.ts';
import { start, UNKNOWN_SECRET } from '../kit/device.ts';
import { has } from '../kit/needs.ts';
import { runChild, startChild } from '../kit/process.ts';
import { launchRelay, MAIN, type RelayProcess, untilHealthy } from '../kit/relay.ts';
import { pollUntil } from '../kit/wait.ts';

/** A relay whose output the test may close, or leave unread. */
async function startRelay(stdout: number | 'unread' = 'unread') {
  const relay = await launchRelay({ START_BURST: '1000' }, { stdout });
  await untilHealthy(relay.baseUrl);
  return relay;
}

/** Each start is a line of the log. */
async function log(relay: RelayProcess, lines: number): Promise<void> {
  for (let count = 0; count < lines; count += 1) await start(relay);
}

const cannotWrite = (why: string) =>
  `The log cannot be written (${why}); the relay keeps running.\n`;

describe('when the reader is gone', () => {
  test('the relay says so once', async () => {
    const relay = await startRelay();
    relay.streams[0]?.destroy();
    await log(relay, 10);
    await pollUntil('the relay says so', relay.stderr);
    expect(await relay.stop()).toBe(0);
    expect(relay.stderr()).toBe(cannotWrite('EPIPE'));
  });

  test('and the reader of stderr too, it keeps running', async () => {
    const relay = await startRelay();
    relay.streams[0]?.destroy();
    relay.streams[1]?.destroy();
    await log(relay, 10);
    expect(await relay.stop()).toBe(0);
  });

  test('--help is no error', async () => {
    const child = startChild([process.execPath, MAIN, '--help'], { stdout: 'unread' });
    child.streams[0]?.destroy();
    expect([await child.exited, child.stderr()]).toEqual([0, '']);
  });
});

const onLinux = test.if(has('Linux', 'when the disk is full, relay and commands say so'));

onLinux('when the disk is full the relay says so once', async () => {
  const full = openSync('/dev/full', 'w');
  const relay = await startRelay(full);
  closeSync(full);
  await log(relay, 10);
  await pollUntil('the relay says so', relay.stderr);
  expect(await relay.stop()).toBe(0);
  expect(relay.stderr()).toBe(cannotWrite('ENOSPC'));
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
  async function overfill({ ask, stderr }: RelayProcess) {
    const poll = () => ask(`/auth/result?session=${UNKNOWN_SECRET}&wait=0`);
    for (let sent = 0; sent < MAX_BACKLOG_CHARACTERS / 20 && stderr() === ''; sent += 50) {
      await Promise.all(Array.from({ length: 50 }, poll));
    }
    expect(stderr()).toBe(cannotWrite('a megabyte waits for its reader'));
  }

  test('lines beyond a limit are dropped, and their number is logged once it reads again', async () => {
    const relay = await startRelay();
    await overfill(relay);
    await log(relay, 1);
    const lines = createInterface(relay.streams[0] ?? expect.unreachable());
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
