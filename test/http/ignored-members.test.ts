/** Why a start did not do what an app developer expected, in the log at debug (docs/reference.md). */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { captureLog, createTestService } from '../kit/service.ts';

let log = captureLog('debug');
beforeEach(() => {
  log = captureLog('debug');
});
afterAll(() => {
  captureLog();
});

const ignored = () =>
  log.named('start_member_ignored').map(({ member, expected }) => [member, expected] as const);

async function startWith(body: string) {
  const answer = await createTestService().ask('/auth/start', { method: 'POST', body });
  return answer.status;
}

test.each<[object, [unknown, unknown][]]>([
  [{ service: 'mal' }, []],
  [{ service: 'mal', code: true, ack: false, details: false, device: 'TV' }, []],
  [{ service: 'mal', code: 'true' }, [['code', 'boolean']]],
  [
    { service: 'mal', ack: 1, details: null, device: ['TV'] },
    [
      ['ack', 'boolean'],
      ['details', 'boolean'],
      ['device', 'string'],
    ],
  ],
  [{ service: 'mal', userCode: true }, [['userCode', 'no such member']]],
  [{ service: 'mal', toString: 1 }, [['toString', 'no such member']]],
])('%j', async (asked, expected) => {
  expect(await startWith(JSON.stringify(asked))).toBe(200);
  expect(ignored()).toEqual(expected);
  expect(log.named('start_member_ignored').every(({ level }) => level === 'debug')).toBe(true);
});

test('a service of a wrong type is named too, although the start is refused', async () => {
  expect(await startWith('{"service":["mal"]}')).toBe(400);
  expect(ignored()).toEqual([['service', 'string']]);
});

test('no value is logged, and no name that could be a secret or break a line', async () => {
  const secret = 'kq0Vd3yQm8sT1uWx5zAbC7eF';
  const members = { [secret]: 1, 'a\nb': 1, '': 1, code: secret };
  expect(await startWith(JSON.stringify({ service: 'mal', ...members }))).toBe(200);
  expect(ignored().map(([member]) => member)).toEqual(['…', '…', '…', 'code']);
  expect(JSON.stringify(log.events)).not.toContain(secret);
});

test('one request writes eight lines at most', async () => {
  const members = Object.fromEntries(Array.from({ length: 40 }, (_, nth) => [`m${nth}`, 1]));
  await startWith(JSON.stringify({ service: 'mal', ...members }));
  expect(ignored()).toHaveLength(8);
});

test('a body that is cut at 512 bytes is logged; a whole one is not', async () => {
  const ofLength = (bytes: number) => '{"service":"mal"}'.padEnd(bytes);
  expect(await startWith(ofLength(512))).toBe(200);
  expect(log.named('start_body_cut')).toEqual([]);
  expect(await startWith(ofLength(513))).toBe(200);
  expect(await startWith(`{"device":"${'x'.repeat(600)}","service":"mal"}`)).toBe(400);
  expect(log.named('start_body_cut')).toMatchObject([{ readBytes: 512 }, { readBytes: 512 }]);
});
