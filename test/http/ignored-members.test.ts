/** Why a start did not do what an app developer expected, in the log at debug (docs/reference.md). */
import { expect, test } from 'bun:test';
import { captureLog, createTestService } from '../kit/service.ts';

async function startWith(body: string) {
  const log = captureLog('debug');
  const { status } = await createTestService().ask('/auth/start', { method: 'POST', body });
  const lines = log.named('start_member_ignored');
  expect(lines.every(({ level }) => level === 'debug')).toBe(true);
  return { log, status, ignored: lines.map(({ member, expected }) => [member, expected]) };
}

test.each<[object, status: number, [unknown, unknown][]]>([
  [{ service: 'mal' }, 200, []],
  [{ service: 'mal', code: true, ack: false, details: false, device: 'TV' }, 200, []],
  [{ service: 'mal', code: 'true' }, 200, [['code', 'boolean']]],
  [
    { service: 'mal', ack: 1, details: null, device: ['TV'] },
    200,
    [
      ['ack', 'boolean'],
      ['details', 'boolean'],
      ['device', 'string'],
    ],
  ],
  [{ service: 'mal', userCode: true }, 200, [['userCode', 'no such member']]],
  [{ service: 'mal', toString: 1 }, 200, [['toString', 'no such member']]],
  // Named too, although the start is refused.
  [{ service: ['mal'] }, 400, [['service', 'string']]],
])('%j gets a %d, and the log names %j', async (asked, status, ignored) => {
  expect(await startWith(JSON.stringify(asked))).toMatchObject({ status, ignored });
});

test('no value is logged, and no name that could be a secret or break a line', async () => {
  const secret = 'kq0Vd3yQm8sT1uWx5zAbC7eF';
  const members = { [secret]: 1, 'a\nb': 1, '': 1, code: secret };
  const { log, status, ignored } = await startWith(JSON.stringify({ service: 'mal', ...members }));
  expect(status).toBe(200);
  expect(ignored.map(([member]) => member)).toEqual(['…', '…', '…', 'code']);
  expect(JSON.stringify(log.events)).not.toContain(secret);
});

test('one request writes eight lines at most', async () => {
  const members = Object.fromEntries(Array.from({ length: 40 }, (_, nth) => [`m${nth}`, 1]));
  expect((await startWith(JSON.stringify({ service: 'mal', ...members }))).ignored).toHaveLength(8);
});

test('a body that is cut at 512 bytes is logged; a whole one is not', async () => {
  const ofLength = (bytes: number) => '{"service":"mal"}'.padEnd(bytes);
  for (const [body, status, cut] of [
    [ofLength(512), 200, []],
    [ofLength(513), 200, [{ readBytes: 512 }]],
    [`{"device":"${'x'.repeat(600)}","service":"mal"}`, 400, [{ readBytes: 512 }]],
  ] as const) {
    const started = await startWith(body);
    expect(started.status).toBe(status);
    expect(started.log.named('start_body_cut')).toMatchObject([...cut]);
  }
});
