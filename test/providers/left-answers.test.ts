/** hazards.md §1c, Abort mid-body: nothing is kept of an answer that was not read to its end. */
import { afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { TOKEN_RESPONSE_BYTES } from '../../src/limits.ts';
import { serveBytes, stopUpstreams } from '../support/upstream.ts';

afterEach(stopUpstreams);

const LEAVE_ANSWERS = join(import.meta.dir, 'support/leave-answers.ts');

/** Until the runtime has all the memory that it will want. */
const WARM_UP = 400;
const ROUNDS = 1_600;
/** Kept, what was read of the bodies would be three times as much; what had been sent, twelve times. */
const ALLOWED_BYTES = (ROUNDS * TOKEN_RESPONSE_BYTES) / 3;

test(`${ROUNDS} answers left in mid-body leave no connection open and nothing of the bodies in memory`, async () => {
  const part = Buffer.alloc(4 * TOKEN_RESPONSE_BYTES, 32);
  let open = 0;
  let mostOpen = 0;
  const url = await serveBytes((socket) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    socket.on('close', () => {
      open -= 1;
    });
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${10 * part.byteLength}\r\n\r\n`);
    socket.write(part);
  });
  const [settledBytes = 0, bytes = 0] = await leaveAnswers(url, WARM_UP, ROUNDS);
  expect(bytes - settledBytes).toBeLessThan(ALLOWED_BYTES);
  // One, and perhaps those before it whose end has not been seen yet.
  expect(mostOpen).toBeLessThan(10);
}, 60_000);

/** The resident bytes after each of the counts. */
async function leaveAnswers(url: string, ...counts: number[]): Promise<number[]> {
  const child = Bun.spawn([process.execPath, LEAVE_ANSWERS, url, ...counts.map(String)], {
    stderr: 'inherit',
  });
  const output = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return output.trim().split('\n').map(Number);
}
