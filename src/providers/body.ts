/** Reading what a stranger sends, up to a limit. */

/** Reads at most `limit` bytes of UTF-8; undefined when there are more. Stops the sender there. */
export async function readAtMost(response: Response, limit: number): Promise<string | undefined> {
  // One that says how short it is need not be watched; as a stream it costs ten times as much.
  // What is compressed may be a thousand times as long, where the runtime unpacks it (Node).
  const isPlain = !response.headers.has('content-encoding');
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  if (isPlain && length <= limit) return response.text();
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
