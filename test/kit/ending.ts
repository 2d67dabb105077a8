/** What a test file starts, and does not end itself, ends with the file: setup.ts. */

const ends: (() => unknown)[] = [];

export function endWithFile(end: () => unknown): void {
  ends.push(end);
}

/** What was started last ends first: it may use the others. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}
