/** Characters that cannot be seen, or that turn the text around them, one of each kind. */
export const UNSEEN: readonly string[] = [
  // Zero width: joiners, spaces, a byte order mark, operators.
  ...['\u200B', '\u200C', '\u200D', '\u2060', '\uFEFF', '\u2063', '\u00AD', '\u034F', '\u180E'],
  // Direction: marks, embeddings, overrides, isolates.
  ...['\u200E', '\u200F', '\u061C', '\u202A', '\u202C', '\u202E', '\u2066', '\u2068', '\u2069'],
  // Blanks that count as letters or symbols.
  ...['\u3164', '\uFFA0', '\u115F', '\u1160', '\u2800', '\u17B4', '\u{1D159}'],
  // Variation selectors and tags with nothing to vary.
  ...['\uFE0F', '\uFE00', '\u{E0100}', '\u{E0041}', '\u{E007F}', '\u180B'],
  // Controls, line separators, annotations, private use, half a character.
  ...['\n', '\u0007', '\u001B', '\u0085', '\u2028', '\u2029', '\uFFF9', '\uE000', '\uD800'],
];
