import type { Answer } from './connection.ts';

const HEAD_END = '\r\n\r\n';

/** Takes what comes of one answer after another; returns each once it is whole. */
export function createAnswerReader(): (chunk: Buffer) => Answer | undefined {
  let text = '';
  return (chunk) => {
    text += chunk.toString('latin1');
    const headEnd = text.indexOf(HEAD_END);
    if (headEnd < 0) return undefined;
    const end = headEnd + HEAD_END.length + bodyLength(text, headEnd);
    if (text.length < end) return undefined;
    const answer = {
      status: Number(text.slice(9, 12)),
      body: text.slice(headEnd + HEAD_END.length, end),
    };
    text = text.slice(end);
    return answer;
  };
}

/** The relay always says the length, except with 204, which has no body. RFC 9110 §8.6. */
function bodyLength(text: string, headEnd: number): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? 0 : Number(length);
}
