/** `GET /qr/<name>.svg|png`: a sign-in as a picture, for devices that cannot draw one. docs/qr.md. */
import { Hono } from 'hono';
import {
  CAPABILITY_SHAPE,
  DEFAULT_QR_PX,
  HANDLER_DEADLINE_MS,
  MAX_QR_PX,
  MIN_QR_PX,
} from '../../limits.ts';
import { createDeadlines } from '../../relay/deadlines.ts';
import { createAdmitByBoth, retryAfter } from '../admission.ts';
import type { AuthDoorOptions } from '../door-options.ts';
import { refuse, refuseMethod } from '../errors.ts';
import { guard, type Handler } from '../guard.ts';
import type { Env } from '../request-context.ts';
import { DATA_HEADERS } from '../security-headers.ts';
import { parseUserCode, shortLinkOf } from '../user-code.ts';
import type { QrFormat } from './image.ts';

export type QrDoorOptions = Pick<
  AuthDoorOptions,
  'relay' | 'clock' | 'baseUrl' | 'admit' | 'qrLimits'
>;

const ROUTE = '/qr/:file';

export function createQrDoor(options: QrDoorOptions): Hono<Env> {
  const deadlines = createDeadlines(options.clock, HANDLER_DEADLINE_MS);
  const door = new Hono<Env>();
  // `all`: Hono would answer HEAD with what it has for GET.
  door.all(
    ROUTE,
    guard(ROUTE, createQr(options), deadlines, () => refuse('busy')),
  );
  return door;
}

function createQr(options: QrDoorOptions): Handler {
  const admitPicture = createAdmitByBoth(options.admit, options.qrLimits, options.clock);
  return async (c) => {
    const { req } = c;
    if (req.method !== 'GET') return refuseMethod('GET');
    const sizePx = readSize(req.query('size'));
    if (sizePx === undefined) return refuse('invalid_size');
    const [, name = '', extension = ''] = /^\/qr\/(.+)\.([a-z]+)$/.exec(req.path) ?? [];
    if (!isFormat(extension)) return refuse('not_found');
    const admission = await admitPicture(c);
    if (!admission.ok) return refuse(admission.refusal, retryAfter(admission));
    const link = createShortLink(name, options.baseUrl) ?? (await findLink(name, options));
    if (link === undefined) return refuse('not_found');
    // Loaded when a device asks: most draw their own, and it brings a compressor.
    const { drawQr } = await import('./image.ts');
    return new Response(drawQr(link, extension, sizePx), {
      headers: { ...DATA_HEADERS, 'Content-Type': MEDIA_TYPES[extension] },
    });
  };
}

const MEDIA_TYPES: Readonly<Record<QrFormat, string>> = {
  svg: 'image/svg+xml',
  png: 'image/png',
};

function isFormat(extension: string): extension is QrFormat {
  return Object.hasOwn(MEDIA_TYPES, extension);
}

function readSize(written: string | undefined): number | undefined {
  if (written === undefined) return DEFAULT_QR_PX;
  const sizePx = /^\d+$/.test(written) ? Number(written) : 0;
  return sizePx >= MIN_QR_PX && sizePx <= MAX_QR_PX ? sizePx : undefined;
}

/**
 * Where a user code leads. Nothing is looked up, so that the picture tells
 * nobody which codes there are. In capitals, where its address may be written
 * so, the text needs only the small alphabet of ISO/IEC 18004 §7.4.4, and the
 * picture has fewer, larger modules: scheme and host know no case (RFC 3986
 * §6.2.2.1), but a path does.
 */
function createShortLink(name: string, baseUrl: string): string | undefined {
  const userCode = parseUserCode(name);
  if (userCode === undefined) return undefined;
  const { origin, pathname } = new URL(baseUrl);
  return shortLinkOf(pathname === '/' ? origin.toUpperCase() : baseUrl, userCode);
}

/** The link of a sign-in that still waits for its person. `protocol.md` §4. */
async function findLink(
  browserState: string,
  { relay, baseUrl }: QrDoorOptions,
): Promise<string | undefined> {
  if (!CAPABILITY_SHAPE.test(browserState)) return undefined;
  const found = await relay.find({ browserState });
  return found && `${baseUrl}/auth/${found.service}?state=${browserState}`;
}
