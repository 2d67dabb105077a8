/**
 * Writes the guide to each provider to docs/providers/, for the documentation site: `npm run docs`
 * begins with it. The repository has no such files; `sign-in-relay providers <name>` shows the same.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { showProviders } from '../src/cli/show-providers.ts';
import { PROFILES } from '../src/providers/known.ts';
import { UNSUPPORTED } from '../src/providers/unsupported.ts';

const folder = `${import.meta.dirname}/../docs/providers`;
// A page of a provider that is gone would stay.
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const name of [...PROFILES.keys(), ...UNSUPPORTED.keys()]) {
  writeFileSync(`${folder}/${name}.md`, showProviders(name).text);
}
