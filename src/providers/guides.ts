/**
 * The guides to providers, guides/*.md. That of a profile begins with how to register an app, and has
 * what the profile does not say. That of a provider that can't be enabled by its name says why.
 */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns them by name, in alphabetical order. src/cli/show-providers.ts imports it as a macro,
 * so Bun calls it while it bundles the command line, and no other build has the guides.
 */
export function readGuides(): Record<string, string> {
  const folder = `${import.meta.dirname}/guides`;
  const files = readdirSync(folder).filter((file) => file.endsWith('.md'));
  const guides = files.sort().map((file) => {
    return [file.replace('.md', ''), readFileSync(`${folder}/${file}`, 'utf8')] as const;
  });
  return Object.fromEntries(guides);
}
