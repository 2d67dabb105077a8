/** Time for a loaded machine; reaching it is a failure, with the name of what did not come. */
const PATIENCE_MS = 25_000;
const PAUSE_MS = 20;

/** Looks until there is something to see, where Redis tells of it by no event. */
export async function pollUntil<Value>(
  what: string,
  look: () => Promise<Value | undefined>,
): Promise<Value> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > giveUpAt) throw new Error(`waited in vain until ${what}`);
    await Bun.sleep(PAUSE_MS);
  }
}
