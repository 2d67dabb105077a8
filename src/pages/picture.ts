/**
 * The operator's logo. Its type is read from its bytes. An SVG may contain anything: pages show it
 * in an `<img>`, and its response has a policy under which it runs and loads nothing
 * (http/responses.ts).
 */
import { Buffer } from 'node:buffer';

/** It is sent to every user's phone, and kept in memory. */
const LOGO_BYTES = 131_072;

export interface Picture {
  readonly mediaType: string;
  readonly base64: string;
}

/** How each type begins, in ISO 8859-1. WebP names its own length in between. */
const TYPES: readonly (readonly [mediaType: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  [
    'image/svg+xml',
    /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:[^-]|-(?!->))*-->\s*)*<svg[\s>]/,
  ],
];

/** `bytes` in ISO 8859-1. Returns the picture, or what is wrong with it. */
export function readPicture(bytes: string): Picture | { readonly problem: string } {
  if (bytes.length > LOGO_BYTES) {
    const size = `${Math.ceil(bytes.length / 1_024)} KiB`;
    return { problem: `must have at most ${LOGO_BYTES / 1_024} KiB, not ${size}` };
  }
  const [mediaType] = TYPES.find(([, start]) => start.test(bytes)) ?? [];
  if (mediaType === undefined) return { problem: 'must be a PNG, JPEG, WebP or SVG picture' };
  return { mediaType, base64: Buffer.from(bytes, 'latin1').toString('base64') };
}

/** The bytes of a `data:` URL, in ISO 8859-1. Undefined for anything else. RFC 2397. */
export function readDataUri(address: string): string | undefined {
  const [, isBase64, data = ''] = /^data:[^,]*?(;base64)?,([\s\S]*)$/i.exec(address) ?? [];
  if (data === '') return undefined;
  try {
    return isBase64
      ? Buffer.from(data, 'base64').toString('latin1')
      : Buffer.from(decodeURIComponent(data)).toString('latin1');
  } catch {
    return undefined;
  }
}
