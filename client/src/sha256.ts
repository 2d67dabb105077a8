/** SHA-256 (FIPS 180-4) of ASCII text shorter than 56 characters, for engines without crypto.subtle. Returns 32 bytes. */
export function sha256(text: string): number[] {
  const words: number[] = [];
  for (let index = 0; index < 16; index += 1) words.push(0);
  const put = (index: number, byte: number) => {
    words[index >> 2] = (words[index >> 2] as number) | (byte << (24 - (index % 4) * 8));
  };
  for (let index = 0; index < text.length; index += 1) put(index, text.charCodeAt(index));
  put(text.length, 0x80);
  words[15] = text.length * 8;

  /** 32 bits of the fraction of a root. */
  const fraction = (root: number) => ((root - Math.floor(root)) * 0x1_0000_0000) | 0;
  const keys: number[] = [];
  const state: number[] = [];
  for (let candidate = 2; keys.length < 64; candidate += 1) {
    let divisor = 2;
    while (candidate % divisor > 0) divisor += 1;
    if (divisor < candidate) continue;
    if (state.length < 8) state.push(fraction(Math.sqrt(candidate)));
    keys.push(fraction(candidate ** (1 / 3)));
  }

  const at = (from: readonly number[], index: number) => from[index] as number;
  const turn = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));
  let work = state.slice();
  for (let round = 0; round < 64; round += 1) {
    if (round > 15) {
      const early = at(words, round - 15);
      const late = at(words, round - 2);
      words[round] =
        (at(words, round - 16) +
          (turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) +
          at(words, round - 7) +
          (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10))) |
        0;
    }
    const [a, b, c, , e, f, g, h] = work as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const first =
      h +
      (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
      ((e & f) ^ (~e & g)) +
      at(keys, round) +
      at(words, round);
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    work = [(first + second) | 0].concat(work.slice(0, 7));
    work[4] = (at(work, 4) + first) | 0;
  }
  const bytes: number[] = [];
  for (let index = 0; index < 32; index += 1) {
    const word = at(state, index >> 2) + at(work, index >> 2);
    bytes.push((word >> (24 - (index % 4) * 8)) & 255);
  }
  return bytes;
}
