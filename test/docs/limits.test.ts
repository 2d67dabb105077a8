/** The numbers in the documentation, and the label of an id, are those of the source. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { en } from '../../src/pages/messages/en.ts';
import * as limits from '../kit/limits.ts';

const ROOT = join(import.meta.dir, '../..');
const seconds = (ms: number) => ms / 1_000;
const kibibytes = (bytes: number) => bytes / 1_024;
const thousands = (count: number) => count.toLocaleString('en');

const { CODE_LIMIT_OVERALL, CODE_LIMIT_PER_ADDRESS, DEVICE_POLL_LIMIT } = limits;
const { QR_LIMIT_OVERALL, QR_LIMIT_PER_ADDRESS, REFRESH_LIMIT, REVOKE_LIMIT } = limits;
const refreshSeconds = seconds(limits.REFRESH_RESULT_MS);
const undoSeconds = seconds(limits.STORE_UNDO_MS);

test.each([
  ['README.md', `waits up to ${limits.DEFAULT_POLL_SECONDS} s`],
  ['docs/protocol.md', `("${en.failed.reference} 7c1f-09ab")`],
  ['docs/operating.md', `("${en.failed.reference} 7c1f-09ab")`],
  ['docs/protocol.md', `| session | ${limits.DEFAULT_SESSION_SECONDS} s (`],
  ['docs/protocol.md', `| poll | ${limits.DEFAULT_POLL_SECONDS} s (`],
  ['docs/protocol.md', `| open sign-ins | ${limits.DEFAULT_MAX_SESSIONS} (`],
  [
    'docs/protocol.md',
    `| starts of one address | ${limits.DEFAULT_START_BURST} at once, then ${limits.DEFAULT_START_RATE_PER_SECOND}/s (`,
  ],
  [
    'docs/protocol.md',
    `| refreshes of one address | ${REFRESH_LIMIT.burst} at once, then 1 in ${1 / REFRESH_LIMIT.ratePerSecond} s |`,
  ],
  [
    'docs/protocol.md',
    `| revocations of one address | ${REVOKE_LIMIT.burst} at once, then 1 in ${1 / REVOKE_LIMIT.ratePerSecond} s |`,
  ],
  [
    'docs/protocol.md',
    `| polls of one device code | ${DEVICE_POLL_LIMIT.burst} at once, then ${DEVICE_POLL_LIMIT.ratePerSecond * 5} in 5 s |`,
  ],
  [
    'docs/protocol.md',
    `${limits.USER_CODE_LENGTH} of ${limits.USER_CODE_ALPHABET.length} consonants`,
  ],
  ['docs/protocol.md', `(\`ack\`) | ${seconds(limits.ACK_MS)} s |`],
  [
    'docs/protocol.md',
    `${QR_LIMIT_PER_ADDRESS.burst}, then ${QR_LIMIT_PER_ADDRESS.ratePerSecond}/s`,
  ],
  [
    'docs/protocol.md',
    `${QR_LIMIT_OVERALL.burst}, then ${QR_LIMIT_OVERALL.ratePerSecond}/s in each`,
  ],
  ['docs/protocol.md', `parked on one session | ${limits.MAX_POLLS_PER_SESSION};`],
  ['docs/protocol.md', `are read, for at most ${seconds(limits.REQUEST_BODY_DEADLINE_MS)} s`],
  ['docs/protocol.md', `above ${kibibytes(limits.REQUEST_BODY_BYTES) / 1_024} MiB`],
  [
    'docs/protocol.md',
    `| exchange | ${seconds(limits.EXCHANGE_TIMEOUT_MS)} s, ${kibibytes(limits.TOKEN_RESPONSE_BYTES)} KiB |`,
  ],
  [
    'docs/protocol.md',
    `| ${limits.DEFAULT_DEVICE_GRANT_REPEAT_SECONDS} s (\`DEVICE_GRANT_REPEAT_SECONDS\`) |`,
  ],
  ['docs/protocol.md', `| the result of a refresh | ${refreshSeconds} s |`],
  ['docs/security.md', `**The result of a refresh** for ${refreshSeconds} s`],
  [
    'docs/device-grant.md',
    `For ${limits.DEFAULT_DEVICE_GRANT_REPEAT_SECONDS} seconds after the first`,
  ],
  [
    'docs/device-grant.md',
    `a repeat within [${refreshSeconds} s](protocol.md#8-limits) of the result`,
  ],
  [
    'docs/person.md',
    `${CODE_LIMIT_PER_ADDRESS.burst} at once, then 1 in ${1 / CODE_LIMIT_PER_ADDRESS.ratePerSecond} seconds`,
  ],
  [
    'docs/person.md',
    `${CODE_LIMIT_OVERALL.burst} at once, then ${CODE_LIMIT_OVERALL.ratePerSecond} a second`,
  ],
  ['docs/operating.md', `for ${seconds(limits.EXCHANGE_TIMEOUT_MS)} s. Therefore`],
  [
    'docs/operating.md',
    `${thousands(limits.UPSTREAM_REQUESTS)} in all, and ${thousands(limits.UPSTREAM_REQUESTS / 4)} at one`,
  ],
  ['docs/operating.md', `up to ${seconds(limits.DRAIN_DELIVERY_MS)} seconds to fetch them`],
  ['docs/operating.md', `tries again every ${seconds(limits.DISCOVERY_RETRY_MS)} s`],
  [
    'docs/configuration.md',
    `at most ${seconds(limits.DISCOVERY_TIMEOUT_MS)} seconds before it listens`,
  ],
  ['docs/configuration.md', `again every ${seconds(limits.DISCOVERY_RETRY_MS)} seconds`],
  ['docs/configuration.md', `1 to ${limits.MAX_IDLE_SECONDS - limits.IDLE_MARGIN_SECONDS}.`],
  ['docs/scaling.md', `the lease of the exchange (${seconds(limits.EXCHANGE_LEASE_MS)} s)`],
  ['docs/scaling.md', `a heartbeat every ${limits.HEARTBEAT_MS} ms`],
  ['docs/scaling.md', `after ${limits.STORE_RETRY_MS} ms, then after twice as long`],
  ['docs/scaling.md', `up to ${seconds(limits.STORE_RETRY_MAX_MS)} s.`],
  ['docs/scaling.md', `has answered or ${undoSeconds} s have passed`],
  ['docs/scaling.md', `It tries for ${limits.DEFAULT_REDIS_WAIT_SECONDS} seconds`],
  ['docs/scaling.md', `no refusal for ${seconds(limits.STORE_REFUSAL_QUIET_MS)} seconds`],
  ['docs/sealing.md', `stays, sealed, for ${undoSeconds} more seconds`],
  ['docs/sealing.md', `refresh id, for ${refreshSeconds} seconds`],
])('%s says "%s"', (path, phrase) => {
  expect(readFileSync(join(ROOT, path), 'utf8')).toContain(phrase);
});
