/** The programs of docs/device-grant.md, as they stand there. */
import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../docs/device-grant.md', import.meta.url);

/** The code blocks under a heading, in their order. */
export function readBlocks(heading: string): readonly string[] {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [, section] = text.split(new RegExp(`^### ${escapePattern(heading)}$`, 'm'));
  const [own = ''] = section?.split(/^###? /m) ?? [];
  const blocks = [...own.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block);
  if (blocks.length === 0) throw new Error(`docs/device-grant.md has no program "${heading}"`);
  return blocks;
}

function escapePattern(text: string): string {
  return text.replace(/[^\w ]/g, '\\$&');
}
