/** Decodes responses of providers that compress although the relay asks them not to. */
import { pipeline, Readable, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
} from 'node:zlib';
import type { ProviderResponse } from '../providers/config.ts';

/**
 * Decodes a few KiB at a time, as they are read. Bun's fetch decodes all that has arrived
 * at once, which may become a thousand times as long.
 */
export function decode(response: ProviderResponse): ProviderResponse {
  const { status, headers, body } = response;
  const decoders = decodersFor(headers.get('content-encoding') ?? '');
  if (decoders.length === 0 || body === null) return response;
  // The reader gets the error.
  const last = pipeline([body, ...decoders], () => {}) as unknown as Readable;
  const decoded = Readable.toWeb(last) as unknown as ReadableStream;
  return { status, headers, body: decoded, text: () => new Response(decoded).text() };
}

/** The decoders in their order: the encoding that was applied last comes first. RFC 9110 §8.4. */
function decodersFor(encodings: string): Decoder[] {
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

type Decoder = Transform | typeof inflate;

const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => createGunzip(ZLIB)],
  ['x-gzip', () => createGunzip(ZLIB)],
  ['deflate', () => inflate],
  ['br', () => createBrotliDecompress(BROTLI)],
]);

/** Deflate has a zlib header (RFC 9110 §8.4.1.2), which some servers leave out. Its first byte ends in 8 (RFC 1950 §2.2). */
async function* inflate(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  const first = await chunks.next();
  if (first.done) return;
  const hasHeader = ((first.value[0] ?? 0) & 15) === 8;
  const inflater = hasHeader ? createInflate(ZLIB) : createInflateRaw(ZLIB);
  async function* all() {
    yield first.value;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  yield* pipeline(all, inflater, () => {});
}
