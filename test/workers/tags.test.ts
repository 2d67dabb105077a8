/** Secrets with tags, by which requests find their object: each is as random as any other. */
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createTaggedSecrets, tagOf } from '../../src/workers/tag.ts';

const TAGS = 16;

describe('the secrets of a session', () => {
  const drawn = Array.from({ length: 4_000 }, (_, at) =>
    createTaggedSecrets(randomBytes, TAGS, at % TAGS)(true),
  );

  test('have one tag', () => {
    for (const { browserState, pollSecret, userCode } of drawn) {
      const tags = [browserState, pollSecret, userCode ?? ''].map((secret) => tagOf(secret, TAGS));
      expect(new Set(tags).size).toBe(1);
    }
  });

  test.each(['browserState', 'pollSecret', 'userCode'] as const)(
    'are as even in each character and tag as if there were no tags: %s',
    (name) => {
      const counts = new Map<string, number>();
      const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
      for (const { [name]: secret = '' } of drawn) {
        count(`tag ${tagOf(secret, TAGS)}`);
        for (const [at, character] of [...secret].entries()) count(`${at} ${character}`);
      }
      const places = name === 'userCode' ? 8 * 20 : 24 * 64;
      expect(counts.size).toBe(TAGS + places);
      for (const [what, found] of counts) {
        const expected =
          drawn.length / (what.startsWith('tag') ? TAGS : places / (name === 'userCode' ? 8 : 24));
        // Six standard deviations.
        expect(Math.abs(found - expected)).toBeLessThan(6 * Math.sqrt(expected));
      }
    },
  );
});

test('an object that no deployment uses any more draws secrets without looking for its tag', () => {
  expect(createTaggedSecrets(randomBytes, TAGS, -1)(true).userCode).toHaveLength(8);
});
