/** Draws QR codes, black on white. */
import { generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';
import { QR_QUIET_ZONE } from '../limits.ts';

export type QrFormat = 'svg' | 'png';

/**
 * A module is as many whole pixels as `sizePx` allows, at least one: a fraction would blur modules
 * or make them of different widths.
 */
export function drawQr(
  text: string,
  format: QrFormat,
  sizePx: number,
): string | Uint8Array<ArrayBuffer> {
  // By default the library makes the smallest code, with correction level L or, if there is room
  // left, mostly M or Q. That is right here: a camera across the room needs large modules, and a
  // screen has no dirt to correct.
  const code = generate(text);
  const scale = Math.max(1, Math.floor(sizePx / (code.size + 2 * QR_QUIET_ZONE)));
  if (format === 'svg') {
    return toSvgSource(code, { on: 'black', off: 'white', pad: QR_QUIET_ZONE, scale });
  }
  const pad = QR_QUIET_ZONE;
  return Uint8Array.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], pad, scale }));
}
