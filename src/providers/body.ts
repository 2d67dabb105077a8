/** Reading what a stranger sends, up to a limit. */

/** Reads at most `limit` bytes of UTF-8; undefined when there are more. Stops the sender there. */
export async function readAtMost(response: Response, limit: number): Promise<string | undefined> {
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
