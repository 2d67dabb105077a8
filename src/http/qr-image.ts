/** A text as the picture of a QR code: exact modules, black on white whatever the screen's colours are. */
import { correction, generate } from 'lean-qr';
import { toPngBuffer } from 'lean-qr/extras/node_export';
import { toSvgSource } from 'lean-qr/extras/svg';

export type QrFormat = 'svg' | 'png';

/** What a scanner needs around the code, in modules. ISO/IEC 18004 §9.1. */
const QUIET_ZONE = 4;

/**
 * The picture in the greatest whole number of pixels a module with which it is
 * at most `sizePx` wide: a module of part of a pixel would be blurred, or wider
 * than its neighbour. Below one pixel a module nothing could be seen.
 */
export function drawQr(
  text: string,
  format: QrFormat,
  sizePx: number,
): string | Uint8Array<ArrayBuffer> {
  // The smallest code that fits, as what a camera across the room needs is large
  // modules: a screen has no dirt or creases to correct. In what room is left
  // over, the library raises the level by itself, mostly to M or Q.
  const code = generate(text, { minCorrectionLevel: correction.L });
  const scale = Math.max(1, Math.floor(sizePx / (code.size + 2 * QUIET_ZONE)));
  if (format === 'svg') {
    return toSvgSource(code, { on: 'black', off: 'white', pad: QUIET_ZONE, scale });
  }
  const pad = QUIET_ZONE;
  return Uint8Array.from(toPngBuffer(code, { on: [0, 0, 0], off: [255, 255, 255], pad, scale }));
}
