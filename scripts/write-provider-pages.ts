/**
 * Writes docs/providers.md and docs/providers/*.md from the profiles: `npm run
 * write-provider-pages`. The tests fail until it has been run after a change.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { writeGuide } from '../src/providers/guide.ts';
import { PROFILES } from '../src/providers/known.ts';
import { writeProvidersPage, writeUnsupportedPage } from './providers-page.ts';

/** Path in docs/ -> its text, for every page that is written from the facts about providers. */
export function writePages(): Readonly<Record<string, string>> {
  const guides = [...PROFILES].map(
    ([name, profile]) =>
      [`providers/${name}.md`, `${WRITTEN}${writeGuide(name, profile)}`] as const,
  );
  return {
    'providers.md': `${WRITTEN}${writeProvidersPage()}`,
    'providers/unsupported.md': `${WRITTEN}${writeUnsupportedPage()}`,
    ...Object.fromEntries(guides),
  };
}

const WRITTEN = '<!-- Written by scripts/write-provider-pages.ts; do not edit. -->\n';

if (import.meta.main) {
  const root = `${import.meta.dirname}/..`;
  mkdirSync(`${root}/docs/providers`, { recursive: true });
  for (const [path, text] of Object.entries(writePages())) {
    writeFileSync(`${root}/docs/${path}`, text);
  }
}
