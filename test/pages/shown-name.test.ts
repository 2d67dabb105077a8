/** What the name of a device or an app may contain (docs/user-pages.md). */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { SHOWN_NAME_CHARACTERS } from '../../src/limits.ts';
import { cleanName, hasInvisible } from '../../src/pages/shown-name.ts';
import { PROFILES } from '../../src/providers/profiles.ts';
import { INVISIBLE, property } from '../kit/random.ts';

describe('invisible characters', () => {
  test.each(INVISIBLE)('%j is removed from a name, and is no name by itself', (invisible) => {
    expect(cleanName(`Living${invisible}room`)?.replace(' ', '')).toBe('Livingroom');
    expect(cleanName(invisible.repeat(3))).toBeUndefined();
  });

  test.each(['\u0301', '\u0301\u0308', '\u20DD', '\u093E', ' \u0301'])(
    'marks without a base character are no name: %j',
    (marks) => {
      expect(cleanName(marks)).toBeUndefined();
      expect(cleanName(`${marks}TV`)).toBe('TV');
    },
  );

  test('more marks than any language puts on one letter are removed', () => {
    expect(cleanName(`TV${'\u0301'.repeat(30)}!`)).toBe(`TV${'\u0301'.repeat(4)}!`);
  });
});

describe('visible text is kept as it is', () => {
  test.each([
    ['emoji of one family', '👨‍👩‍👧‍👦 Home'],
    ['emoji with a skin and a sex', '🕵🏽‍♀️'],
    ['emoji joined by a heart', '👩‍❤️‍💋‍👨'],
    ['a flag made of two', '🏳️‍🌈 🏴‍☠️ 🇩🇪'],
    ['a keycap', '1️⃣'],
    ['Arabic', 'تلفاز غرفة المعيشة'],
    ['Persian, whose letters are kept apart', 'تلویزیون می‌بینم'],
    ['Hebrew with points', 'טֶלֶוִיזְיָה'],
    ['Hindi, joined and kept apart', 'क्‍ष क्‌ष'],
    ['Bengali', 'র‍্যাব'],
    ['Sinhala', 'ශ්‍රී'],
    ['Thai', 'ทีวีห้องนั่งเล่น'],
    ['Japanese and Korean', 'リビングのテレビ 거실'],
    ['letters made of several', 'Ju\u0308rgens Te\u0301le\u0301'],
    ['signs', '***'],
    ['what looks like HTML', '<b>TV</b> & Co.'],
  ])('%s', (_, name) => {
    expect(cleanName(name)).toBe(name);
  });
});

describe('a name is one line of 40 characters', () => {
  test('line breaks and blanks become one blank', () => {
    expect(cleanName('  Wohn\r\n\t\u2028 zimmer\u00a0 ')).toBe('Wohn zimmer');
  });

  test('no character is cut in two', () => {
    const family = '👨‍👩‍👧‍👦';
    expect(cleanName(family.repeat(9))).toBe(family.repeat(5));
    expect(cleanName('🇩🇪'.repeat(30))).toBe('🇩🇪'.repeat(20));
    expect(cleanName(`x${'🇩🇪'.repeat(30)}`)).toBe(`x${'🇩🇪'.repeat(19)}`);
    expect(cleanName(`${'👨‍'.repeat(50)}👨`)).toBeUndefined();
  });

  test('an empty text and blanks are no name', () => {
    for (const blank of ['', ' \n']) expect(cleanName(blank)).toBeUndefined();
  });
});

test('whatever a device sends, the cleaned name is visible, short, and stays the same', () => {
  const unit = fc.oneof(
    fc.constantFrom(
      ...INVISIBLE,
      '\u0301',
      '👨',
      '\uFE0F',
      '❤',
      '🏽',
      'ب',
      'क',
      '\u094D',
      ' ',
      'x',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  property(fc.array(unit, { maxLength: 90 }), (characters) => {
    const name = cleanName(characters.join(''));
    if (name === undefined) return;
    expect(cleanName(name)).toBe(name);
    expect(hasInvisible(name)).toBe(false);
    expect([...name].length).toBeLessThanOrEqual(SHOWN_NAME_CHARACTERS);
    expect(name).toMatch(/[\p{L}\p{N}\p{P}\p{S}]/u);
  });
});

test('the names of all known providers are clean', () => {
  const names = [...PROFILES.values()].map(({ displayName }) => displayName);
  expect(names.filter((name) => cleanName(name) !== name)).toEqual([]);
});
