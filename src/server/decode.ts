/** Decodes responses of providers that compress although the relay asks them not to. */
import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { ProviderResponse } from '../providers/config.ts';

/**
 * Decodes a few KiB at a time, as they are read. Bun's fetch decodes all that has arrived
 * at once, which may become a thousand times as long.
 */
export function decode(response: ProviderResponse): ProviderResponse {
  const { status, headers } = response;
  const encodings = headers.get('content-encoding');
  const decoders = encodings === null ? [] : decodersFor(encodings);
  // Asking for the body makes it a stream, so it comes last.
  if (decoders.length === 0 || response.body === null) return response;
  // The reader gets the error.
  const last = pipeline([response.body, ...decoders], () => {}) as unknown as Readable;
  const decoded = Readable.toWeb(last) as unknown as ReadableStream;
  return { status, headers, body: decoded, text: () => new Response(decoded).text() };
}

/** The decoders in their order: the encoding that was applied last comes first. RFC 9110 §8.4. */
function decodersFor(encodings: string): Transform[] {
  const names = encodings.toLowerCase().split(',', MAX_ENCODINGS);
  // Some servers name the character set here too.
  const applied = names.map((name) => DECODERS.get(name.trim())).filter((decode) => decode);
  return applied.toReversed().flatMap((decode) => decode?.() ?? []);
}

/** More encodings would be an attack. Node's own fetch allows 5. */
const MAX_ENCODINGS = 5;

/** If a response is cut off, the decoders return what has arrived. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip(ZLIB)],
  ['x-gzip', () => createGunzip(ZLIB)],
  ['deflate', () => createInflate(ZLIB)],
  ['br', () => createBrotliDecompress(BROTLI)],
]);
