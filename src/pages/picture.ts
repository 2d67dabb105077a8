/**
 * The operator's logo. Every user's browser gets it from the relay, so its type is read
 * from its bytes, and an SVG that could run or load anything is refused.
 */
import { Buffer } from 'node:buffer';

/** The operator's logo. It is sent to every user's phone, and kept in memory. */
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

/** What an SVG must not contain. Browsers run none of it in an `<img>`, but a user may open the picture by itself. */
const UNSAFE: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a <script> element', /<\s*(?:\w+:)?script/i],
  ['HTML (<foreignObject>)', /<\s*(?:\w+:)?foreignObject/i],
  ['an event handler such as onload', /[\s"'/]on\w+\s*=/i],
  ['a document type or an entity', /<!(?:DOCTYPE|ENTITY)/i],
  ['a processing instruction', /<\?(?!xml\s)/i],
  [
    'a link to elsewhere',
    /(?:href|src)\s*=\s*(?:"\s*(?!#|data:image\/)[^"]|'\s*(?!#|data:image\/)[^']|[^\s"'])/i,
  ],
  ['a style that loads something', /@import|url\(\s*(?:["']\s*)?(?!#|data:image\/)[^\s"')]/i],
  ['a javascript: address', /javascript\s*:/i],
];

/** `bytes` in ISO 8859-1. Returns the picture, or what is wrong with it. */
export function readPicture(bytes: string): Picture | { readonly problem: string } {
  if (bytes.length > LOGO_BYTES) {
    const size = `${Math.ceil(bytes.length / 1_024)} KiB`;
    return { problem: `must have at most ${LOGO_BYTES / 1_024} KiB, not ${size}` };
  }
  const [mediaType] = TYPES.find(([, start]) => start.test(bytes)) ?? [];
  if (mediaType === undefined) return { problem: 'must be a PNG, JPEG, WebP or SVG picture' };
  if (mediaType === 'image/svg+xml') {
    const [what] = UNSAFE.find(([, pattern]) => pattern.test(withoutComments(bytes))) ?? [];
    if (what !== undefined) return { problem: `must be an SVG without ${what}` };
  }
  return { mediaType, base64: Buffer.from(bytes, 'latin1').toString('base64') };
}

/** A comment that does not end lasts to the end of the file. */
function withoutComments(svg: string): string {
  return svg.replace(/<!--[\s\S]*?(?:-->|$)/g, '');
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
