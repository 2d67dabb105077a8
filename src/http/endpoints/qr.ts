/** `GET /qr/<name>.svg|png`: the QR code of a link, for devices that cannot draw one. docs/qr.md. */
import { QR_QUIET_ZONE } from '../../limits.ts';
import { isCapability, parseUserCode } from '../../sign-ins/secrets.ts';
import type { Handler } from '../app.ts';
import type { Dependencies } from '../dependencies.ts';
import { linkOf, shortLinkOf } from '../request.ts';
import { DATA_HEADERS, isKeyOf, refuse } from '../responses.ts';

/**
 * Width and height of a picture. The default fits a television of 720 lines; the maximum is
 * enough for 2160. Twice the width takes four times as long.
 */
export const DEFAULT_SIZE_PX = 400;
export const MIN_SIZE_PX = 100;
export const MAX_SIZE_PX = 1_000;

const MEDIA_TYPES = { svg: 'image/svg+xml', png: 'image/png' } as const;

export function createQr(dependencies: Dependencies): Handler {
  const { signIns, admission, baseUrl, basePath } = dependencies;
  // Capitals need only the small alphabet of ISO/IEC 18004 §7.4.4, which gives fewer and larger
  // modules. Scheme and host ignore case (RFC 3986 §6.2.2.1), a path does not.
  const base = basePath === '' ? new URL(baseUrl).origin.toUpperCase() : baseUrl;

  /** The link of a pending sign-in. Undefined if there is none. */
  async function findLink(browserState: string): Promise<string | undefined> {
    if (!isCapability(browserState)) return undefined;
    const found = await signIns.find({ browserState });
    if (!found || 'outcome' in found) return undefined;
    return linkOf(baseUrl, found.service, browserState);
  }

  return async (request) => {
    const sizePx = parseSize(request.query('size'));
    if (sizePx === undefined) return refuse('invalid_size');
    const [, name = '', extension = ''] = /^(.+)\.([a-z]+)$/.exec(request.parameter) ?? [];
    if (!isKeyOf(MEDIA_TYPES, extension)) return refuse('not_found');
    const admitted = await admission.admitToPair(request, 'qr');
    if (!admitted.ok) return admitted;
    const userCode = parseUserCode(name);
    // A user code is not looked up, so the picture does not reveal which codes exist.
    const link = userCode === undefined ? await findLink(name) : shortLinkOf(base, userCode);
    if (link === undefined) return refuse('not_found');
    const headers = { ...DATA_HEADERS, 'Content-Type': MEDIA_TYPES[extension] };
    return new Response(await drawQr(link, extension, sizePx), { headers });
  };
}

/**
 * Black on white. A module is as many whole pixels as `sizePx` allows, at least one: a fraction would
 * blur modules or make them of different widths.
 */
async function drawQr(text: string, format: keyof typeof MEDIA_TYPES, sizePx: number) {
  // Loaded on demand, because most devices draw the code themselves.
  const { generate } = await import('lean-qr');
  // By default the library makes the smallest code, with correction level L or, if there is room
  // left, mostly M or Q. That is right here: a camera across the room needs large modules, and a
  // screen has no dirt to correct.
  const code = generate(text);
  const pad = QR_QUIET_ZONE;
  const scale = Math.max(1, Math.floor(sizePx / (code.size + 2 * pad)));
  if (format === 'svg') {
    const { toSvgSource } = await import('lean-qr/extras/svg');
    return toSvgSource(code, { on: 'black', off: 'white', pad, scale });
  }
  const { toPngBuffer } = await import('lean-qr/extras/node_export');
  return Uint8Array.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], pad, scale }));
}

function parseSize(asked: string | undefined): number | undefined {
  if (asked === undefined) return DEFAULT_SIZE_PX;
  const sizePx = /^\d+$/.test(asked) ? Number(asked) : 0;
  return sizePx >= MIN_SIZE_PX && sizePx <= MAX_SIZE_PX ? sizePx : undefined;
}
