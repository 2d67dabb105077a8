/** Reads what a stranger sends, up to a limit. */
import { Buffer } from 'node:buffer';

export interface BoundedText {
  readonly text: string;
  /** There was more than the limit, and it was not read. */
  readonly isCut: boolean;
}

/** Reads at most `limit` bytes of UTF-8 and stops the sender there. Ends early when the reader is cancelled. */
export async function readAtMost(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: number,
): Promise<BoundedText> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (length <= limit) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      length += value.byteLength;
    }
  } finally {
    // A sender that left in the middle makes this fail, which is no fault of ours.
    reader.cancel().catch(() => {});
  }
  const bytes = Buffer.concat(chunks).subarray(0, limit);
  // As text() does, it leaves a byte order mark out.
  return { text: new TextDecoder().decode(bytes), isCut: length > limit };
}
