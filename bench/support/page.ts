/** Puts what was measured into a page that has a place for it: `<!-- bench: name -->` … `<!-- bench -->`. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Places whose name is not among the texts stay as they are. */
export function writeInto(path: string, texts: ReadonlyMap<string, string>): void {
  const page = readFileSync(path, 'utf8');
  const place = /(<!-- bench: (.+?) -->\n).*?(<!-- bench -->)/gs;
  const filled = page.replace(place, (whole: string, begin: string, name: string, end: string) => {
    const text = texts.get(name);
    return text === undefined ? whole : `${begin}\n${text}\n\n${end}`;
  });
  writeFileSync(path, filled);
}
