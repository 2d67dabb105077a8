/** Draws QR codes, black on white. */
import { correction, generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';

export type QrFormat = 'svg' | 'png';

/** The margin that a scanner needs, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/**
 * Each module is a whole number of pixels, so that modules are not blurred and not of different
 * widths: as many as `sizePx` allows, but at least one.
 */
export function drawQr(
  text: string,
  format: QrFormat,
  sizePx: number,
): string | Uint8Array<ArrayBuffer> {
  // The smallest code, because a camera across the room needs large modules, and a screen has
  // no dirt to correct. If there is room left, the library raises the level itself, mostly to
  // M or Q.
  const code = generate(text, { minCorrectionLevel: correction.L });
  const scale = Math.max(1, Math.floor(sizePx / (code.size + 2 * QUIET_ZONE)));
  if (format === 'svg') {
    return toSvgSource(code, { on: 'black', off: 'white', pad: QUIET_ZONE, scale });
  }
  const pad = QUIET_ZONE;
  return Uint8Array.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], pad, scale }));
}
