/** Commas, spaces or both. */
export function splitList(written: string): string[] {
  return written.split(/[\s,]+/).filter(Boolean);
}
