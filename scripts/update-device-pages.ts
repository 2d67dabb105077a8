/**
 * Copies the programs of examples/devices into the pages of docs/devices:
 * `bun scripts/update-device-pages.ts`. A test holds the pages to the programs.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
export const PAGES = join(ROOT, 'docs/devices');

/** A marker, and the block of code below it. */
const INCLUDED = /<!-- code: (\S+) -->\n```(\w+)\n[\s\S]*?\n```\n/g;

/** The page with the programs as they are now. */
export function withPrograms(page: string): string {
  return page.replaceAll(INCLUDED, (_, file: string, language: string) => {
    const program = readFileSync(join(ROOT, file), 'utf8').trimEnd();
    return `<!-- code: ${file} -->\n\`\`\`${language}\n${program}\n\`\`\`\n`;
  });
}

/** The programs that a page includes. */
export const programsOf = (page: string) =>
  [...page.matchAll(INCLUDED)].map(([, file = '']) => file);

export const pageNames = () => readdirSync(PAGES).filter((name) => name.endsWith('.md'));

if (import.meta.main) {
  for (const name of pageNames()) {
    const path = join(PAGES, name);
    writeFileSync(path, withPrograms(readFileSync(path, 'utf8')));
  }
}
