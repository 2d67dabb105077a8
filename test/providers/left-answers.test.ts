/** hazards.md §1c, Abort mid-body: nothing is kept of an answer that was not read to its end. */
import { afterEach, expect, test } from 'bun:test';
import { TOKEN_RESPONSE_BYTES } from '../../src/limits.ts';
import { outcomeAt, serveBytes, stopUpstreams } from '../support/upstream.ts';

afterEach(stopUpstreams);

const ROUNDS = 800;
const SETTLED_AFTER = 300;
const ALLOWED_BYTES = 15_000_000;

test(`${ROUNDS} answers left in mid-body leave no connection open and no more memory than ${SETTLED_AFTER}`, async () => {
  const part = Buffer.alloc(4 * TOKEN_RESPONSE_BYTES, 32);
  let open = 0;
  let tellClosed: () => void = () => {};
  const url = await serveBytes((socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
      tellClosed();
    });
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${10 * part.byteLength}\r\n\r\n`);
    socket.write(part);
  });
  let settledBytes = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const closed = new Promise<void>((resolve) => {
      tellClosed = resolve;
    });
    expect(await outcomeAt(url)).toBe('too_large');
    await closed;
    expect(open).toBe(0);
    if (round === SETTLED_AFTER) settledBytes = residentBytes();
  }
  expect(residentBytes() - settledBytes).toBeLessThan(ALLOWED_BYTES);
});

function residentBytes(): number {
  Bun.gc(true);
  return process.memoryUsage.rss();
}
