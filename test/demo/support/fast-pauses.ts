import { spyOn } from 'bun:test';

const FACTOR = 100;

/** Lets every pause of the device pass a hundred times as fast, and notes how long it was meant to be. */
export function speedUpPauses(): { readonly pausesMs: readonly number[] } & Disposable {
  const pausesMs: number[] = [];
  const { setTimeout } = globalThis;
  const spy = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0) => {
    pausesMs.push(ms);
    return setTimeout(run, ms / FACTOR);
  }) as typeof globalThis.setTimeout);
  return { pausesMs, [Symbol.dispose]: () => spy.mockRestore() };
}
