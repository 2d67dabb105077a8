/** Reading what a stranger sends, up to a limit. */

/** Reads at most `limit` bytes of UTF-8; undefined when there are more. Stops the sender there. */
export function readAtMost(response: Response, limit: number): Promise<string | undefined> {
  return isShort(response, limit) ? response.text() : readChunks(response, limit);
}

/** By a length that counts: chunks override it (RFC 9112 §6.3), and what is compressed grows. */
function isShort({ headers }: Response, limit: number): boolean {
  const length = headers.get('content-length');
  const counts = !headers.has('transfer-encoding') && !headers.has('content-encoding');
  return counts && length !== null && Number(length) <= limit;
}

async function readChunks(response: Response, limit: number): Promise<string | undefined> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
