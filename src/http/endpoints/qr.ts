/** `GET /qr/<name>.svg|png`: the QR code of a link, for devices that cannot draw one. docs/qr.md. */

import type { RateLimitPair } from '../../sign-ins/rate-limits.ts';
import { isCapability, parseUserCode } from '../../sign-ins/secrets.ts';
import type { SignIns } from '../../sign-ins/sign-ins.ts';
import type { Admission } from '../admission.ts';
import type { Handler } from '../app.ts';
import type { QrFormat } from '../qr-image.ts';
import { basePathOf, linkOf, shortLinkOf } from '../request.ts';
import { DATA_HEADERS, isKeyOf, refuse } from '../responses.ts';

/**
 * Width and height of a picture. The default fits a television of 720 lines; the maximum is
 * enough for 2160. Twice the width takes four times as long.
 */
export const DEFAULT_SIZE_PX = 400;
export const MIN_SIZE_PX = 100;
export const MAX_SIZE_PX = 1_000;

const MEDIA_TYPES: Readonly<Record<QrFormat, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
};

export function createQr(
  signIns: SignIns,
  admission: Admission,
  qrLimits: RateLimitPair,
  baseUrl: string,
): Handler {
  /** The link of a pending sign-in. Undefined if there is none. */
  async function findLink(browserState: string): Promise<string | undefined> {
    if (!isCapability(browserState)) return undefined;
    const found = await signIns.find({ browserState });
    return typeof found === 'object' ? linkOf(baseUrl, found.service, browserState) : undefined;
  }

  return async (request) => {
    const sizePx = parseSize(request.query('size'));
    if (sizePx === undefined) return refuse('invalid_size');
    const [, name = '', extension = ''] = /^(.+)\.([a-z]+)$/.exec(request.parameter) ?? [];
    if (!isKeyOf(MEDIA_TYPES, extension)) return refuse('not_found');
    const admitted = await admission.admitToPair(request, qrLimits, 'qr');
    if (!admitted.ok) return admitted;
    const link = shortLinkOfCode(name, baseUrl) ?? (await findLink(name));
    if (link === undefined) return refuse('not_found');
    // Loaded on demand, because most devices draw the code themselves.
    const { drawQr } = await import('../qr-image.ts');
    const headers = { ...DATA_HEADERS, 'Content-Type': MEDIA_TYPES[extension] };
    return new Response(drawQr(link, extension, sizePx), { headers });
  };
}

function parseSize(asked: string | undefined): number | undefined {
  if (asked === undefined) return DEFAULT_SIZE_PX;
  const sizePx = /^\d+$/.test(asked) ? Number(asked) : 0;
  return sizePx >= MIN_SIZE_PX && sizePx <= MAX_SIZE_PX ? sizePx : undefined;
}

/**
 * The short link, if the name is a user code. The code is not looked up, so the picture does not
 * reveal which codes exist. Capitals need only the small alphabet of ISO/IEC 18004
 * §7.4.4, which gives fewer and larger modules. Scheme and host ignore case (RFC 3986
 * §6.2.2.1), a path does not.
 */
function shortLinkOfCode(name: string, baseUrl: string): string | undefined {
  const userCode = parseUserCode(name);
  if (userCode === undefined) return undefined;
  const base = basePathOf(baseUrl) === '' ? new URL(baseUrl).origin.toUpperCase() : baseUrl;
  return shortLinkOf(base, userCode);
}
