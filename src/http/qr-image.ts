/** Draws a text as a QR code: modules of whole pixels, always black on white. */
import { correction, generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';

export type QrFormat = 'svg' | 'png';

/** The margin that a scanner needs, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/**
 * Each module is a whole number of pixels, the most with which the picture is at most
 * `sizePx` wide: otherwise modules would be blurred or differ in width. A module is never
 * less than one pixel.
 */
export function drawQr(
  text: string,
  format: QrFormat,
  sizePx: number,
): string | Uint8Array<ArrayBuffer> {
  // The smallest code that fits, because a camera across the room needs large modules,
  // and a screen has no dirt to correct. Where there is room left, the library raises
  // the level by itself, mostly to M or Q.
  const code = generate(text, { minCorrectionLevel: correction.L });
  const scale = Math.max(1, Math.floor(sizePx / (code.size + 2 * QUIET_ZONE)));
  if (format === 'svg') {
    return toSvgSource(code, { on: 'black', off: 'white', pad: QUIET_ZONE, scale });
  }
  const pad = QUIET_ZONE;
  return Uint8Array.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], pad, scale }));
}
