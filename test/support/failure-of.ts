/**
 * What a promise is rejected with; undefined when it is not. Bun's own
 * `.rejects` stands still until the promise settles, beyond every timeout.
 */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
}
