import { expect, test } from 'bun:test';
import { CAPABILITY_BYTES } from '../../src/limits.ts';
import { createTestService } from '../support/test-service.ts';

/** What a source of `numbers` makes: bytes that are all the same number. */
const capabilityOf = (number: number) =>
  Buffer.alloc(CAPABILITY_BYTES, number).toString('base64url');

test.each([
  ['browser state', [1, 2, /* again */ 1, 3, 4, 5]],
  ['poll secret', [1, 2, 3, /* again */ 2, 4, 5]],
])('§2: when a live session has the %s, both are made again', async (_, numbers) => {
  const source = [...numbers];
  const { start, poll, callback } = createTestService({}, undefined, {
    randomBytes: (length) => Buffer.alloc(length, source.shift() ?? 0),
  });
  // Without PKCE, so that nothing else is made of random bytes.
  const first = await start('anilist');
  const second = await start('anilist');
  expect([first.state, first.session]).toEqual([capabilityOf(1), capabilityOf(2)]);
  expect([second.state, second.session]).toEqual([capabilityOf(4), capabilityOf(5)]);

  await callback(second.state, 'error=access_denied', 'anilist');
  expect((await poll(second.session)).status).toBe(200);
});
