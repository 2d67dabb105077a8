/**
 * Names that a user is shown: what a device calls itself, what the operator
 * calls the app and its providers. They decide whether a user trusts a page, so
 * every character of a name must be seen, and none may move others about.
 */
import { SHOWN_NAME_CHARACTERS } from '../limits.ts';

/** Signs that write a consonant without its vowel (Virama), in the scripts of India and Sri Lanka. */
const VIRAMA = '[\\u094D\\u09CD\\u0A4D\\u0ACD\\u0B4D\\u0BCD\\u0C4D\\u0CCD\\u0D4D\\u0DCA]';

/** Where an invisible character shapes what is seen beside it. UTS #51 §2.2; RFC 5892, A.1 and A.2. */
const IN_USE = [
  // Emoji joined into one picture, such as a family.
  '(?<=\\p{Extended_Pictographic}[\\uFE0F\\p{Emoji_Modifier}]?)\\u200D(?=\\p{Extended_Pictographic})',
  // An emoji shown in colour or as text.
  '(?<=\\p{Emoji})[\\uFE0E\\uFE0F]',
  // Letters that are joined, or kept apart.
  `(?<=${VIRAMA})\\p{Join_Control}`,
  `(?<=\\p{L})\\p{Join_Control}(?=${VIRAMA})`,
  '(?<=\\p{Script=Arabic}\\p{M}*)\\u200C(?=\\p{Script=Arabic})',
].join('|');

/**
 * Control and format characters, which include those of direction; what fonts
 * draw nothing for; and blanks that Unicode counts as symbols or letters.
 */
const INVISIBLE =
  '[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1D159}\\u{13441}\\u{13442}]';

// The class first: a look behind from every character would take the square of a long name.
const UNSEEN = new RegExp(`(?=${INVISIBLE})(?!${IN_USE}).`, 'gsu');

/** More marks than any language sets on one letter cover the lines around it. UTS #39 §5.4. */
const SURPLUS_MARKS = /(?<=[\p{M}\p{Join_Control}]{4})[\p{M}\p{Join_Control}]+/gu;

const SEEN = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** Whether a character cannot be seen, or turns the text around it. */
export function hasUnseen(text: string): boolean {
  return text.search(UNSEEN) >= 0;
}

/** The text with `<U+200B>` in place of what cannot be seen. */
export function spellOutUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const hexadecimal = character.codePointAt(0)?.toString(16) ?? '';
    return `<U+${hexadecimal.toUpperCase().padStart(4, '0')}>`;
  });
}

/** One line of at most SHOWN_NAME_CHARACTERS, all of which are seen. Undefined when nothing is left. */
export function cleanName(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const name = given
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(UNSEEN, '')
    .replace(SURPLUS_MARKS, '')
    // Without a letter before them they would be set on what is no part of the name.
    .replace(/^[\p{M}\p{Join_Control}\s]+/u, '')
    .replace(/\s+/g, ' ')
    .trim();
  // What joined two letters is of no use at the end.
  const shown = shorten(name).replace(UNSEEN, '').trim();
  return SEEN.test(shown) ? shown : undefined;
}

/** Never ends within what is seen as one character, such as a flag. Empty when that alone is too long. */
function shorten(name: string): string {
  if ([...name].length <= SHOWN_NAME_CHARACTERS) return name;
  let shortened = '';
  for (const { segment } of new Intl.Segmenter('en').segment(name)) {
    if ([...shortened, ...segment].length > SHOWN_NAME_CHARACTERS) break;
    shortened += segment;
  }
  return shortened;
}
