/**
 * Writes the guide to each provider to docs/providers/, for the documentation site: `npm run docs`
 * begins with it. `sign-in-relay providers <name>` shows the same.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { showProviders } from '../src/cli/show-providers.ts';
import { readGuides } from '../src/providers/guides.ts';

const folder = `${import.meta.dirname}/../docs/providers`;
// A page of a provider that is gone would stay.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const name of Object.keys(readGuides())) {
  writeFileSync(`${folder}/${name}.md`, showProviders(name));
}
