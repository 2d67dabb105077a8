/** systemd is told when the relay is ready and when it stops (`Type=notify` in deploy/sign-in-relay.service). */
import { beforeAll, expect, onTestFinished, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../kit/process.ts';
import { buildForNode, launchRelay, MAIN, RUNTIMES, startRelay } from '../kit/relay.ts';

/** As systemd: prints the lines of each datagram, and closes the files that came with it, for which systemd-notify waits. */
const SUPERVISOR = `
import array, os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('bound', flush=True)
while True:
    data, ancillary, _, _ = receiver.recvmsg(4096, socket.CMSG_SPACE(4))
    for level, kind, sent in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            for file in array.array('i', sent):
                os.close(file)
    print(data.decode(), flush=True)
`;

async function startSupervisor() {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-supervisor-'));
  const socket = join(folder, 'notify');
  const lines: string[] = [];
  let changed = Promise.withResolvers<void>();
  const child = startChild(['python3', '-c', SUPERVISOR, socket], {
    onLine(line) {
      lines.push(line);
      changed.resolve();
      changed = Promise.withResolvers();
    },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const untilTold = async (line: string) => {
    while (!lines.includes(line)) await changed.promise;
  };
  await untilTold('bound');
  return { socket, lines, untilTold };
}

beforeAll(buildForNode);

test.each(RUNTIMES)('on %s', async (_, command) => {
  const { socket, lines, untilTold } = await startSupervisor();
  const relay = await launchRelay({ NOTIFY_SOCKET: socket }, { command });
  await untilTold('READY=1');
  expect((await relay.ask('/health')).status).toBe(200);
  expect(lines).not.toContain('STOPPING=1');
  const stopped = relay.stop();
  await untilTold('STOPPING=1');
  expect(await stopped).toBe(0);
  expect(relay.events('supervisor_not_notified')).toEqual([]);
});

test('a relay that cannot tell it says so in the log, and serves', async () => {
  const relay = await startRelay({ NOTIFY_SOCKET: '/nonexistent/notify' });
  expect(await relay.waitForEvent('supervisor_not_notified')).toMatchObject({
    ...{ state: 'READY=1', problem: 'systemd-notify exited with 1' },
  });
  expect((await relay.ask('/health')).status).toBe(200);
  expect(await relay.stop()).toBe(0);
});

test('a relay without systemd-notify says so in the log, and serves', async () => {
  const command = ['env', 'PATH=/nonexistent', process.execPath, MAIN];
  const relay = await startRelay({ NOTIFY_SOCKET: '/nonexistent/notify' }, { command });
  expect(await relay.waitForEvent('supervisor_not_notified')).toMatchObject({
    ...{ state: 'READY=1', problem: 'systemd-notify cannot be run (ENOENT)' },
  });
  expect((await relay.ask('/health')).status).toBe(200);
  expect(await relay.stop()).toBe(0);
});
