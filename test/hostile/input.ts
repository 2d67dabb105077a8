/**
 * Hostile values, and mutations of good ones. Plain code instead of fast-check's arbitraries,
 * which cost more than the relay's own work on a request. The same seed makes the same inputs.
 */
import { createRandom, INVISIBLE, IS_SOAK, pickFrom, TERMINAL_SEQUENCES } from '../kit/random.ts';

/** How many inputs a test sends: `npm run soak` sends twenty times as many. */
export const countOf = (count: number) => (IS_SOAK ? 20 * count : count);

/** Part of every hostile value. Where it appears in a response, input was reflected. */
export const MARK = 'zqhost7';

/** Each means something to a parser that might read it. */
const PIECES = [
  `"><${MARK} a='`,
  `'"--><script>${MARK}</script>`,
  `\r\nX-Injected: ${MARK}\r\n\r\n`,
  '%0d%0aX-Injected:%20',
  '%00',
  '%zz',
  '//',
  '/../',
  '/%2e%2e/',
  '__proto__',
  'constructor',
  'toString',
  'null',
  '1e999',
  "'",
  '\\u0000',
  '\\ud800',
  '127.0.0.1',
  '::ffff:10.0.0.1',
  '[::1]:80',
  '0x7f.1',
  'fe80::1%eth0',
  '10.0.0.1,',
  '\r\n',
  '\v',
  '\u00a0',
  'é',
  '👩‍👩‍👧',
  '\ud800',
  '\udfff',
  'A'.repeat(24),
  'x'.repeat(300),
  '['.repeat(600),
  '1'.repeat(4_100),
  ...INVISIBLE,
  ...TERMINAL_SEQUENCES,
];

const ALPHABET = 'abcXYZ019-._~!$&()*+,;=:@%/?#[]{}<>"\\^`| \t\r\n\x00\x1b\x7f\x9b\xffĀ\u202e';

export type Input = ReturnType<typeof createInput>;

export function createInput(seed: number) {
  const random = createRandom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const chance = (share: number) => random() < share;

  const pick = <Item>(list: readonly Item[]) => pickFrom(random, list);

  function piece(): string {
    if (chance(0.6)) return pick(PIECES);
    return Array.from({ length: below(12) }, () => pick([...ALPHABET])).join('');
  }

  /** With the mark in it. */
  function hostile(): string {
    const pieces = Array.from({ length: 1 + below(3) }, piece);
    pieces.splice(below(pieces.length + 1), 0, MARK);
    return pieces.join('');
  }

  function mutateOnce(text: string): string {
    const at = below(text.length + 1);
    const to = Math.min(text.length, at + 1 + below(8));
    switch (below(6)) {
      case 0:
        return text.slice(0, at) + piece() + text.slice(at);
      case 1:
        return text.slice(0, at) + text.slice(to);
      case 2:
        return text.slice(0, to) + text.slice(at);
      case 3:
        return text.slice(0, at) + pick([...ALPHABET]) + text.slice(at + 1);
      case 4:
        return text.slice(0, at);
      default:
        return text.slice(0, at) + hostile() + text.slice(to);
    }
  }

  return {
    below,
    chance,
    pick,
    hostile,
    /** The text with one to four changes. */
    mutate(text: string): string {
      let changed = text;
      for (let left = 1 + below(4); left > 0; left -= 1) changed = mutateOnce(changed);
      return changed;
    },
  };
}
