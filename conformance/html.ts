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
    .replace(/<script[\s>][\s\S]*?(?:<\/script\s*>|$)/gi, ' ')
    .replace(/<style[\s>][\s\S]*?(?:<\/style\s*>|$)/gi, ' ')
    .replace(/<head[\s>][\s\S]*?(?:<\/head\s*>|$)/gi, ' ')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, ' ');
  return {
    title: textsOf(html, /<title(?:\s[^<>]*)?>([\s\S]*?)(?:<\/title\s*>|$)/gi)[0] ?? '',
    headings: textsOf(body, /<h[1-6](?:\s[^<>]*)?>([\s\S]*?)(?:<\/h[1-6]\s*>|$)/gi),
    paragraphs: textsOf(body, /<p(?:\s[^<>]*)?>([\s\S]*?)(?:<\/p\s*>|$)/gi),
    text: textOf(body),
  };
}

function textsOf(html: string, element: RegExp): string[] {
  return [...html.matchAll(element)].map(([, content = '']) => textOf(content));
}

function textOf(html: string): string {
  return unescapeHtml(html.replace(/<[^<>]*>/g, ' '))
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
