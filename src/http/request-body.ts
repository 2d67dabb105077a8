/** The body of a request, up to a limit and a deadline. */
import { Buffer } from 'node:buffer';
import type { Deadlines } from '../relay/deadlines.ts';
import { parseParameters } from './parameters.ts';

export interface Body {
  readonly text: string;
  /** There was more than the limit, and it was not read. */
  readonly isCut: boolean;
}

/**
 * Reads at most `limit` bytes and no longer than the deadline: a body of unknown
 * length then ends, one that is shorter than it said is nothing. Rejects when
 * the client leaves in mid-body.
 */
export async function readBody(
  request: Request,
  limit: number,
  deadlines: Deadlines,
): Promise<Body> {
  // A body that says how short it is need not be watched; as a stream it costs ten times as much.
  const isShort = Number(request.headers.get('content-length') ?? Number.NaN) <= limit;
  return isShort ? readWhole(request, deadlines) : readStart(request.body, limit, deadlines);
}

function readWhole(request: Request, deadlines: Deadlines): Promise<Body> {
  return new Promise((resolve, reject) => {
    const finish = (text: string) => {
      deadlines.callOff(wait);
      resolve({ text, isCut: false });
    };
    const wait = deadlines.add(() => finish(''));
    request.text().then(finish, (error: unknown) => {
      deadlines.callOff(wait);
      reject(error);
    });
  });
}

async function readStart(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
  deadlines: Deadlines,
): Promise<Body> {
  if (body === null) return { text: '', isCut: false };
  const bytes = Buffer.alloc(limit);
  let length = 0;
  let isCut = false;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  // A client that leaves in mid-body makes this fail, and it is nobody's fault.
  const stopReading = () => void reader.cancel().catch(() => {});
  const wait = deadlines.add(stopReading);
  try {
    while (!isCut) {
      const { done, value } = await reader.read();
      if (done) break;
      isCut = length + value.byteLength > limit;
      const part = value.subarray(0, limit - length);
      bytes.set(part, length);
      length += part.byteLength;
    }
  } finally {
    deadlines.callOff(wait);
    stopReading();
  }
  // As Request.text() does, a byte order mark is left out.
  return { text: new TextDecoder().decode(bytes.subarray(0, length)), isCut };
}

/** A form as a person's browser sends it; empty when the browser leaves in mid-body. */
export async function readForm(
  request: Request,
  limit: number,
  deadlines: Deadlines,
): Promise<URLSearchParams> {
  const body = await readBody(request, limit, deadlines).catch(() => undefined);
  return parseParameters(body?.text ?? '');
}

/** The members of a JSON object; none of any other JSON. Throws where it is not JSON. */
export function parseMembers(text: string): Readonly<Record<string, unknown>> {
  const json: unknown = JSON.parse(text);
  return typeof json === 'object' && json !== null ? { ...json } : {};
}
