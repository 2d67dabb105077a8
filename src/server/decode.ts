/** Decodes responses of providers that compress although the relay asks them not to. */
import { pipeline, Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { ProviderResponse } from '../providers/config.ts';

/**
 * Decodes a few KiB at a time, as they are read. Bun's fetch decodes all that has arrived
 * at once, which may become a thousand times as long.
 */
export function decode(response: ProviderResponse): ProviderResponse {
  const { status, headers, body } = response;
  const decoder = DECODERS.get(headers.get('content-encoding')?.toLowerCase() ?? '')?.();
  if (decoder === undefined || body === null) return response;
  // The reader gets the error.
  pipeline(body, decoder, () => {});
  const decoded = Readable.toWeb(decoder) as unknown as ReadableStream;
  return { status, headers, body: decoded, text: () => new Response(decoded).text() };
}

/** They return what has arrived of a response that is cut off. */
const ZLIB = { finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { finishFlush: constants.BROTLI_OPERATION_FLUSH };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip(ZLIB)],
  ['x-gzip', () => createGunzip(ZLIB)],
  ['deflate', () => createInflate(ZLIB)],
  ['br', () => createBrotliDecompress(BROTLI)],
]);
