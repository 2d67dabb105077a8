/**
 * Every pattern of the relay, the client and the conformance suite takes linear time on any
 * text. With one that takes quadratic time, one long request holds up all others. `recheck`
 * proves it or finds a text that is slow, and what it cannot decide fails too.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { check } from 'recheck';

const ROOT = join(import.meta.dir, '..');
/** Turns off the time limits of its stages, which would make the verdict depend on the machine. */
const PARAMETERS = { timeout: 120_000, attackTimeout: null, incubationTimeout: null };

interface Pattern {
  readonly source: string;
  readonly flags: string;
  /** File and line. */
  readonly place: string;
}

/** The literals of a file, and how many patterns it makes of strings. */
function readPatterns(path: string, code: string) {
  const literals: Pattern[] = [];
  let made = 0;
  JSON.stringify(parseSync(code, { syntax: 'typescript', tsx: path.endsWith('x') }), (_, node) => {
    if (node?.type === 'RegExpLiteral') {
      const { pattern: source, flags } = node;
      const before = code.slice(0, code.indexOf(`/${source}/${flags}`));
      literals.push({ source, flags, place: `${path}:${before.split('\n').length}` });
    }
    if (node?.callee?.value === 'RegExp') made += 1;
    return node;
  });
  return { literals, made };
}

/** What a module makes of strings while it loads. */
async function loadPatterns(path: string): Promise<Pattern[]> {
  // First what it imports.
  await import(join(ROOT, path));
  const patterns: Pattern[] = [];
  const original = RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, args) {
      const { source, flags } = Reflect.construct(target, args);
      patterns.push({ source, flags, place: path });
      return new target(source, flags);
    },
  });
  try {
    await import(`${join(ROOT, path)}?again`);
  } finally {
    globalThis.RegExp = original;
  }
  return patterns;
}

const FILES = [...new Bun.Glob('{src,client,conformance}/**/*.{ts,tsx}').scanSync(ROOT)].filter(
  (path) => !/\/(?:node_modules|dist)\//.test(path),
);
const patterns: Pattern[] = [];
const unreadable: string[] = [];
for (const path of FILES) {
  const { literals, made } = readPatterns(path, await Bun.file(join(ROOT, path)).text());
  const loaded = made === 0 ? [] : await loadPatterns(path);
  if (loaded.length !== made) unreadable.push(path);
  patterns.push(...literals, ...loaded);
}

test('a pattern is a literal, or made once while its module loads', () => {
  expect(unreadable).toEqual([]);
  expect(patterns.length).toBeGreaterThan(200);
});

test('every pattern takes linear time', async () => {
  const slow: string[] = [];
  const unique = Map.groupBy(patterns, ({ source, flags }) => `/${source}/${flags}`);
  for (const [pattern, [first, ...others]] of unique) {
    if (first === undefined) continue;
    const found = await check(first.source, first.flags, PARAMETERS);
    if (found.status === 'safe') continue;
    const places = [first, ...others].map(({ place }) => place).join(', ');
    const why =
      found.status === 'vulnerable'
        ? `${found.complexity.summary}, as with ${found.attack.pattern}`
        : `unknown (${found.error.kind})`;
    slow.push(`${places}: ${pattern} is ${why}`);
  }
  expect(slow).toEqual([]);
}, 900_000);
