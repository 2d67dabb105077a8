/** The programs of docs/device-grant.md, as they stand there. */
import { readFileSync } from 'node:fs';

const DOCUMENT = new URL('../../../docs/device-grant.md', import.meta.url);

const readDocument = () => readFileSync(DOCUMENT, 'utf8');

/** The code blocks under a heading, in their order. */
export function readBlocks(heading: string): readonly string[] {
  const [, section] = readDocument().split(new RegExp(`^### ${escapePattern(heading)}$`, 'm'));
  const [own = ''] = section?.split(/^###? /m) ?? [];
  const blocks = [...own.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block);
  if (blocks.length === 0) throw new Error(`docs/device-grant.md has no program "${heading}"`);
  return blocks;
}

/** What the table of clients says of one. */
export function readRow(name: string): readonly string[] {
  const line = readDocument()
    .split('\n')
    .find((candidate) => candidate.startsWith(`| [${name}]`));
  return line?.slice(2, -2).split(' | ') ?? [];
}

function escapePattern(text: string): string {
  return text.replace(/[^\w ]/g, '\\$&');
}
