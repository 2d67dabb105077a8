/** @jsxImportSource hono/jsx */
/**
 * A sentence of the pages as HTML. A name within it is marked by the characters that
 * isolate text of the other direction (Unicode UAX #9, FSI and PDI), and no line breaks
 * within it unless it is longer than a line. A sentence without names has no elements, so
 * that programs find the sentences of docs/protocol.md §5.
 */

const NAMED = /((?<!\p{P})\p{P}+|)\u2068([^\u2068\u2069]*)\u2069(\p{P}*)/gu;

/** Marks a name for a sentence. */
export function isolate(name: string): string {
  return `\u2068${name}\u2069`;
}

/** The sentence for a title, which has no elements and no lines. */
export function withoutMarks(sentence: string): string {
  return sentence.replaceAll(/[\u2068\u2069\u200B]/g, '');
}

export function Words({ children }: { children: string }) {
  const parts: (string | object)[] = [];
  let end = 0;
  for (const { 0: all, 1: before, 2: name, 3: after, index } of children.matchAll(NAMED)) {
    parts.push(children.slice(end, index));
    parts.push(
      <span class="whole">
        {before}
        <bdi>{name}</bdi>
        {after}
      </span>,
    );
    end = index + all.length;
  }
  return (
    <>
      {parts}
      {children.slice(end)}
    </>
  );
}
