/** Reads the parts of an HTML page that the protocol names. */

export interface Page {
  readonly title: string;
  readonly headings: readonly string[];
  readonly paragraphs: readonly string[];
  /** All visible text, in one line. */
  readonly text: string;
}

export function readPage(html: string): Page {
  const body = html
    .replace(/<(script|style|head)\b[\s\S]*?<\/\1\s*>/gi, ' ')
    .replace(/<!--[\s\S]*?-->/g, ' ');
  return {
    title: textsOf(html, 'title')[0] ?? '',
    headings: textsOf(body, 'h[1-6]'),
    paragraphs: textsOf(body, 'p'),
    text: textOf(body),
  };
}

function textsOf(html: string, tag: string): string[] {
  const element = new RegExp(`<(${tag})(?:\\s[^>]*)?>([\\s\\S]*?)</\\1\\s*>`, 'gi');
  return [...html.matchAll(element)].map((match) => textOf(match[2] ?? ''));
}

function textOf(html: string): string {
  return unescapeHtml(html.replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

const NAMED = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }),
);

function unescapeHtml(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name: string) => {
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return name.startsWith('#') ? String.fromCodePoint(code) : (NAMED.get(name) ?? whole);
  });
}
