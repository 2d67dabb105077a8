/** Reads an untrusted body, up to a limit. */
import { Buffer } from 'node:buffer';

/**
 * Reads at most `limitBytes` of UTF-8, then cancels the stream. Ends early when the reader is cancelled.
 * `isTruncated`: the body was longer, and the rest was not read.
 */
export async function readAtMost(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limitBytes: number,
) {
  const chunks: Uint8Array[] = [];
  let lengthBytes = 0;
  try {
    while (lengthBytes <= limitBytes) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      lengthBytes += value.byteLength;
    }
  } finally {
    // Ignore failures: the sender has disconnected.
    reader.cancel().catch(() => {});
  }
  const bytes = Buffer.concat(chunks).subarray(0, limitBytes);
  // TextDecoder drops a byte order mark, as Response.text() does.
  return { text: new TextDecoder().decode(bytes), isTruncated: lengthBytes > limitBytes };
}
