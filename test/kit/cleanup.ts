/** Ends what a test file has started and has not ended itself. setup.ts calls it after the file. */

const ends: (() => unknown)[] = [];

export function endWithFile(end: () => unknown): void {
  ends.push(end);
}

/** What was started last ends first: it may use the others. */
export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}
