export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = sorted.slice(middle - 1, middle + 1);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : (low + high) / 2;
}
