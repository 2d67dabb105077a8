/**
 * Names that users see: the name that a device gives itself, and those that the operator
 * gives the app and the providers. Users decide by them whether to trust a page, so every
 * character must be visible, and none may reorder the text around it.
 */
import { SHOWN_NAME_CHARACTERS } from '../limits.ts';

/** Signs that write a consonant without its vowel (Virama), in the scripts of India and Sri Lanka. */
const VIRAMA = '[\\u094D\\u09CD\\u0A4D\\u0ACD\\u0B4D\\u0BCD\\u0C4D\\u0CCD\\u0D4D\\u0DCA]';

/** Where an invisible character is allowed, because it changes how its neighbours look. UTS #51 §2.2; RFC 5892, A.1 and A.2. */
const IN_USE = [
  // Emoji joined into one picture, such as a family.
  '(?<=\\p{Extended_Pictographic}[\\uFE0F\\p{Emoji_Modifier}]?)\\u200D(?=\\p{Extended_Pictographic})',
  // An emoji shown in colour or as text.
  '(?<=\\p{Emoji})[\\uFE0E\\uFE0F]',
  // Joiners that join letters or keep them apart.
  `(?<=${VIRAMA})\\p{Join_Control}`,
  `(?<=\\p{L})\\p{Join_Control}(?=${VIRAMA})`,
  '(?<=\\p{Script=Arabic}\\p{M}*)\\u200C(?=\\p{Script=Arabic})',
].join('|');

/**
 * Control and format characters, which include those that change direction; characters
 * that fonts do not draw; and blanks that Unicode classifies as symbols or letters.
 */
const INVISIBLE_CLASS =
  '[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1D159}\\u{13441}\\u{13442}]';

// The class comes first, because a lookbehind at every character would take quadratic time.
const INVISIBLE = new RegExp(`(?=${INVISIBLE_CLASS})(?!${IN_USE}).`, 'gsu');

/** Combining marks beyond what any language puts on one letter: they cover the lines around it. UTS #39 §5.4. */
const SURPLUS_MARKS = /(?<=[\p{M}\p{Join_Control}]{4})[\p{M}\p{Join_Control}]+/gu;

const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** True if any character is invisible or changes the direction of text. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) >= 0;
}

/** Replaces each invisible character by its code point, as in `<U+200B>`. */
export function spellOutInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const hexadecimal = character.codePointAt(0)?.toString(16) ?? '';
    return `<U+${hexadecimal.toUpperCase().padStart(4, '0')}>`;
  });
}

/** One line of at most SHOWN_NAME_CHARACTERS visible characters. Undefined when nothing is left. */
export function cleanName(given: string): string | undefined {
  const name = given
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(INVISIBLE, '')
    .replace(SURPLUS_MARKS, '')
    // Marks without a letter before them would attach to text outside the name.
    .replace(/^[\p{M}\p{Join_Control}\s]+/u, '')
    .replace(/\s+/g, ' ')
    .trim();
  // Shortening may leave a joiner at the end.
  const shown = shorten(name).replace(INVISIBLE, '').trim();
  return VISIBLE.test(shown) ? shown : undefined;
}

/** Never cuts within one visible character, such as a flag. Empty if the first alone is too long. */
function shorten(name: string): string {
  if ([...name].length <= SHOWN_NAME_CHARACTERS) return name;
  let shortened = '';
  for (const { segment } of new Intl.Segmenter('en').segment(name)) {
    if ([...shortened, ...segment].length > SHOWN_NAME_CHARACTERS) break;
    shortened += segment;
  }
  return shortened;
}
