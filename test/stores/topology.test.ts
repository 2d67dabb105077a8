/** What is read from Sentinels and from the nodes of a Cluster of who is the primary. */
import { describe, expect, test } from 'bun:test';
import {
  isConfirmed,
  orderClaims,
  readClusterView,
  readSentinelView,
  SLOTS,
  type SlotsReply,
} from '../../src/stores/redis/topology.ts';

const sentinelRecord = (flags: string, epoch = 1, port = 6379) =>
  Object.entries({
    ...{ name: 'mymaster', ip: '10.0.0.1', port: `${port}`, runid: 'r', flags },
    'config-epoch': `${epoch}`,
  }).flat();
const bySentinel = (by: string, flags: string, epoch?: number, port?: number) =>
  readSentinelView(by, sentinelRecord(flags, epoch, port), [['ip', '10.0.0.9', 'port', '26379']]);

const PRIMARY = '10.0.0.1:6379';

describe('under Sentinel', () => {
  test('the primary has every slot; Sentinels that were not named are asked too', () => {
    expect(bySentinel('s1:26379', 'master')).toEqual({
      by: 's1:26379',
      claims: [{ name: PRIMARY, ranges: [[0, SLOTS - 1]], epoch: 1, isWell: true }],
      witnesses: [
        { host: 's1', port: 26379 },
        { host: '10.0.0.9', port: 26379 },
      ],
    });
  });

  test.each([
    ['master', true],
    ['s_down,master', false],
    ['s_down,o_down,master', false],
    ['master,disconnected', false],
    ['master,failover_in_progress,force_failover', false],
    ['master,master_reboot', false],
  ])('with the flags %s it is confirmed: %p', (flags, expected) => {
    const views = [bySentinel('a:1', 'master'), bySentinel('b:1', flags)];
    expect(isConfirmed(PRIMARY, views)).toBe(expected);
  });

  test('the highest epoch comes last, whichever server reports it; a claim that all report is there once', () => {
    const views = [
      bySentinel('a:1', 'master', 7, 6380),
      bySentinel('b:1', 'master', 2),
      bySentinel('c:1', 'master', 2),
    ];
    expect(orderClaims(views).map(({ name }) => name)).toEqual([PRIMARY, '10.0.0.1:6380']);
    expect(isConfirmed('10.0.0.1:6380', views)).toBe(true);
  });

  test('no server answers: nothing is confirmed', () => {
    expect(isConfirmed(PRIMARY, [])).toBe(false);
  });
});

/** As CLUSTER NODES has a node, one line each. */
const node = (id: string, port: number, rest: string) =>
  `${id} 127.0.0.1:${port}@1${port},host-${id} ${rest}\n`;
const SLOTS_REPLY: SlotsReply[] = [
  [0, 99, ['host-a', 7001, 'a'], ['host-c', 7003, 'c']],
  [100, 16383, ['host-b', 7002, 'b']],
];
const byNode = (asked: string, nodes: string, slots = SLOTS_REPLY) =>
  readClusterView({ host: asked, port: 7002 }, slots, nodes);
const A = node('a', 7001, 'master - 0 1 5 connected 0-98 99 [7->-b]');
const B = node('b', 7002, 'myself,master - 0 1 6 connected 100-16383');
const C = node('c', 7003, 'slave a 0 1 5 connected');

describe('in a Cluster', () => {
  test('addresses are those for clients; slots, epochs and who speaks are of the nodes', () => {
    expect(byNode('127.0.0.1', A + B + C)).toEqual({
      by: 'host-b:7002',
      claims: [
        {
          name: 'host-a:7001',
          ranges: [
            [0, 98],
            [99, 99],
          ],
          epoch: 5,
          isWell: true,
        },
        { name: 'host-b:7002', ranges: [[100, 16383]], epoch: 6, isWell: true },
      ],
      witnesses: [
        { host: 'host-a', port: 7001 },
        { host: 'host-c', port: 7003 },
        { host: 'host-b', port: 7002 },
      ],
    });
  });

  test('an address without a host is that of the node that was asked', () => {
    const reply: SlotsReply[] = [[0, 16383, [null, 7002, 'b']]];
    expect(byNode('10.1.1.1', B, reply)).toMatchObject({ by: '10.1.1.1:7002' });
  });

  test.each([
    ['master - 0 1 5 connected 0-99', true],
    ['master,fail? - 0 1 5 connected 0-99', false],
    ['master,fail - 0 1 5 disconnected 0-99', false],
    ['master - 0 1 5 disconnected 0-99', false],
  ])('%s: it is confirmed: %p', (rest, expected) => {
    const view = byNode('127.0.0.1', node('a', 7001, rest) + B + C);
    expect(isConfirmed('host-a:7001', [view])).toBe(expected);
  });

  test('what a node says of itself does not count', () => {
    expect(isConfirmed('host-b:7002', [byNode('127.0.0.1', A + B + C)])).toBe(false);
  });

  test('but where there is no other', () => {
    const reply: SlotsReply[] = [[0, 16383, ['host-b', 7002, 'b']]];
    expect(isConfirmed('host-b:7002', [byNode('127.0.0.1', B, reply)])).toBe(true);
  });
});
