import { describe, expect, test } from 'bun:test';
import { createFindClientAddress } from '../../src/http/client-address.ts';

const find = createFindClientAddress(['10.0.0.0/8', '2001:db8:ffff::/48', '192.0.2.7']);

function bucketOf(peer: string | undefined, forwardedFor?: string): string {
  const found = find(peer, forwardedFor);
  return found.ok ? found.bucket : 'invalid';
}

describe('the socket', () => {
  test.each([
    ['198.51.100.1', '198.51.100.1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::9', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['fe80::1', 'fe80:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    [undefined, 'invalid'],
    ['', 'invalid'],
    ['unix', 'invalid'],
  ])('%s is bucket %s', (peer, bucket) => {
    expect(bucketOf(peer)).toBe(bucket);
  });
});

describe('X-Forwarded-For', () => {
  test.each([
    ['an untrusted peer is not believed', '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['a trusted peer is', '10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['a trusted peer in IPv6 clothes is', '::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9'],
    ['a trusted IPv6 peer is', '2001:db8:ffff::1', '203.0.113.9', '203.0.113.9'],
    ['a single trusted address is', '192.0.2.7', '203.0.113.9', '203.0.113.9'],
    [
      'a forged entry on the left is not reached',
      '10.1.1.1',
      '6.6.6.6, 203.0.113.9',
      '203.0.113.9',
    ],
    ['trusted hops are passed over', '10.1.1.1', '203.0.113.9, 10.2.2.2,10.3.3.3', '203.0.113.9'],
    ['when all are trusted the first is the client', '10.1.1.1', '10.9.9.9, 10.2.2.2', '10.9.9.9'],
    ['a port is no part of the address', '10.1.1.1', '203.0.113.9:4711', '203.0.113.9'],
    ['IPv6 may be in brackets', '10.1.1.1', '[2001:db8:5:6::1]:4711', '2001:db8:5:6'],
    ['one malformed hop spoils the chain', '10.1.1.1', 'evil, 203.0.113.9', 'invalid'],
    ['so does an empty one', '10.1.1.1', '203.0.113.9,', 'invalid'],
    ['and an empty header', '10.1.1.1', '', 'invalid'],
    ['hexadecimal is not an address', '10.1.1.1', '0x7f.0.0.1', 'invalid'],
    ['nor is a shortened one', '10.1.1.1', '127.1', 'invalid'],
    ['nor an octal one', '10.1.1.1', '0177.0.0.1', 'invalid'],
    ['nor one with a zone', '10.1.1.1', 'fe80::1%eth0', 'invalid'],
    ['nor one in brackets with a zone', '10.1.1.1', '[fe80::1%25eth0]:4711', 'invalid'],
    ['nor one with a zone further left', '10.1.1.1', 'fe80::1%0, 203.0.113.9', 'invalid'],
    ['32 hops are read', '10.1.1.1', Array(32).fill('203.0.113.9').join(), '203.0.113.9'],
    ['33 are not', '10.1.1.1', Array(33).fill('203.0.113.9').join(), 'invalid'],
    ['nor more than 4 KiB', '10.1.1.1', `203.0.113.9,${' '.repeat(4_096)}203.0.113.9`, 'invalid'],
  ])('%s', (_, peer, forwardedFor, bucket) => {
    expect(bucketOf(peer, forwardedFor)).toBe(bucket);
  });

  test('a header that was ignored is told of, for the operator to see', () => {
    expect(find('198.51.100.1', '203.0.113.9')).toMatchObject({ ignoredForwarded: true });
    expect(find('10.1.1.1', '203.0.113.9')).toMatchObject({ ignoredForwarded: false });
  });
});
