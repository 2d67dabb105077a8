import { expect, test } from 'bun:test';
import { formsOf } from './secret-forms.ts';

/** Has a slash and a plus in base64, and a quotation mark. */
const SECRET = 'a "secret"? ~~~>>>???';

function formsIn(text: string, secret = SECRET): string[] {
  const bytes = Buffer.from(text, 'latin1');
  return formsOf(secret)
    .filter((form) => bytes.includes(form.bytes))
    .map(({ name }) => name);
}

test.each([0, 1, 2, 3, 4, 5])('base64 is found %i bytes into a longer text', (before) => {
  const longer = Buffer.from(`${'x'.repeat(before)}${SECRET}and more`);
  expect(formsIn(longer.toString('base64'))).toContain('base64');
  expect(formsIn(longer.toString('base64url'))).toContain('base64url');
});

test('hex is found in both cases', () => {
  const hex = Buffer.from(SECRET).toString('hex');
  expect(formsIn(`.${hex}.`)).toEqual(['hex']);
  expect(formsIn(`.${hex.toUpperCase()}.`)).toEqual(['hex']);
});

test('what JSON, cjson and an address escape is found', () => {
  expect(formsIn(JSON.stringify({ SECRET }))).toEqual(['plain, escaped']);
  expect(formsIn(`?state=${encodeURIComponent(SECRET)}`)).toEqual(['plain, escaped']);
  const base64 = Buffer.from(SECRET).toString('base64');
  expect(base64).toContain('/');
  expect(formsIn(base64.replaceAll('/', '\\/'))).toEqual(['base64, escaped']);
});

test('the bytes that a secret was made of are found', () => {
  const bytes = Buffer.from('00ff10ef20df30cf40bf50af609f708f', 'hex');
  for (const encoding of ['base64url', 'hex'] as const) {
    const found = formsIn(`.${bytes.toString('latin1')}.`, bytes.toString(encoding));
    expect(found).toEqual([`decoded from ${encoding}, plain`]);
  }
});

test('another text is not found, and a short one is not looked for', () => {
  expect(formsIn('another "secret"? ~~>>???')).toEqual([]);
  expect(() => formsOf('1234567')).toThrow('too short');
});
