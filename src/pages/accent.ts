/**
 * The operator's colour, which fills the main button. Text on it is black or white, whichever
 * contrasts more: that is always at least 4.5:1 (WCAG 2.2, 1.4.3). The border has the colour of
 * the text, so on either card the fill or the border has at least 3:1 (1.4.11), whatever the colour.
 */

/** `#rrggbb`, for each colour scheme. */
export interface Accent {
  readonly light: string;
  readonly dark: string;
}

/** The default of `ACCENT`: text on it has a contrast of more than 7:1. */
export const DEFAULT_ACCENT: Accent = { light: '#1e40af', dark: '#93c5fd' };

/** The colour of text on it: white or black. */
export function inkOn(colour: string): string {
  return contrast(colour, '#ffffff') >= contrast(colour, '#000000') ? '#ffffff' : '#000000';
}

/** `#rgb` or `#rrggbb`, written out. Undefined for anything else. */
export function parseColour(text: string): string | undefined {
  const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(text) ?? [];
  const digits = short?.replace(/./g, '$&$&') ?? long;
  return digits && `#${digits.toLowerCase()}`;
}

/** The contrast ratio, from 1 to 21. https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
export function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
