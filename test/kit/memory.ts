/** All that a process has in memory, garbage included, as the kernel shows it. Linux only. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const PAGE_BYTES = 4_096;
/** Larger than any secret that is searched for, since it may lie across two parts. */
const OVERLAP_BYTES = 8_192;
const PART_PAGES = 4_096;

/**
 * Which of the texts the process has, each as one byte or two bytes a character. The
 * process runs on meanwhile, so a page may disappear while it is read.
 */
export function findInMemory(pid: number, texts: readonly string[]): Set<string> {
  const forms = texts.flatMap((text) =>
    (['latin1', 'utf16le'] as const).map((encoding) => {
      return { text, bytes: Buffer.from(text, encoding) };
    }),
  );
  const found = new Set<string>();
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const pages = openSync(`/proc/${pid}/pagemap`, 'r');
  try {
    for (const { start, end } of writableRegions(pid)) {
      for (const run of presentRuns(pages, start, end)) {
        const bytes = Buffer.alloc(run.length);
        const read = readAt(memory, bytes, run.start);
        for (const form of forms) {
          if (!found.has(form.text) && bytes.subarray(0, read).includes(form.bytes)) {
            found.add(form.text);
          }
        }
      }
    }
  } finally {
    closeSync(memory);
    closeSync(pages);
  }
  return found;
}

function writableRegions(pid: number) {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, start, end] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    if (start === undefined || end === undefined) return [];
    return [{ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) }];
  });
}

/** What is in memory or swapped out: a runtime reserves gigabytes that it never touches. */
function* presentRuns(pages: number, start: number, end: number) {
  const entries = Buffer.alloc(PART_PAGES * 8);
  for (let part = start; part < end; part += PART_PAGES * PAGE_BYTES) {
    const count = Math.min(PART_PAGES, (end - part) / PAGE_BYTES);
    const known = readAt(pages, entries.subarray(0, count * 8), (part / PAGE_BYTES) * 8) / 8;
    for (let page = 0; page < known; page += 1) {
      const first = page;
      // The two highest bits of eight bytes: present, swapped.
      while (page < known && (entries[page * 8 + 7] ?? 0) >= 0x40) page += 1;
      if (page === first) continue;
      const from = part + first * PAGE_BYTES;
      const overlap = first === 0 && part > start ? OVERLAP_BYTES : 0;
      yield { start: from - overlap, length: (page - first) * PAGE_BYTES + overlap };
    }
  }
}

/** How many bytes could be read. */
function readAt(file: number, bytes: Buffer, position: number): number {
  try {
    return readSync(file, bytes, 0, bytes.length, position);
  } catch {
    return 0;
  }
}
