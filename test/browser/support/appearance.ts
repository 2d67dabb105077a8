/** What can be measured of a page's looks. Asked from outside: the page itself has no script. */
import type { Page } from 'playwright-core';

export interface Appearance {
  /** The least contrast of any text with what is behind it. WCAG 2.2, 1.4.3. */
  readonly leastContrast: number;
  /** Relative luminance of the page, from black at 0 to white at 1. */
  readonly pageLuminance: number;
  /** Width or height, whichever is less, of what is smallest of all that is pressed; Infinity where nothing is. */
  readonly leastTargetPx: number;
  /** How far the page reaches beyond the window to the right and below, in px. */
  readonly overflowX: number;
  readonly overflowY: number;
}

export function measure(page: Page): Promise<Appearance> {
  return page.evaluate(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });

    /** Of what is seen where these colours lie on each other, the last on top. WCAG 2.2, relative luminance. */
    function luminance(colours: readonly string[]): number {
      if (canvas === null) return Number.NaN;
      for (const colour of ['white', ...colours]) {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
      }
      const [red = 0, green = 0, blue = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map(
        (part) => {
          const value = part / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        },
      );
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    }

    function backgrounds(element: Element | null): string[] {
      if (element === null) return [];
      return [...backgrounds(element.parentElement), getComputedStyle(element).backgroundColor];
    }

    function contrast(element: Element): number {
      const behind = backgrounds(element);
      const text = luminance([...behind, getComputedStyle(element).color]);
      const [darker = 0, lighter = 0] = [luminance(behind), text].sort((a, b) => a - b);
      return (lighter + 0.05) / (darker + 0.05);
    }

    function hasText({ childNodes }: Element): boolean {
      return [...childNodes].some((node) => node instanceof Text && node.data.trim() !== '');
    }

    const root = document.documentElement;
    return {
      leastContrast: Math.min(
        ...[...document.querySelectorAll('body *')].filter(hasText).map(contrast),
      ),
      pageLuminance: luminance(backgrounds(document.body)),
      leastTargetPx: Math.min(
        ...[...document.querySelectorAll('button, input, a')].flatMap((target) => {
          const { width, height } = target.getBoundingClientRect();
          return [width, height];
        }),
      ),
      overflowX: root.scrollWidth - root.clientWidth,
      overflowY: root.scrollHeight - root.clientHeight,
    };
  });
}
