/**
 * Cuts what goes over a connection into the values of RESP 2 and 3.
 * @see https://redis.io/docs/latest/develop/reference/protocol-spec/
 */

const LINES = '+-:_,#(';
const BULKS = '$=!';
/** How many parts follow for each that is counted. An attribute stands before the value it belongs to. */
const PARTS: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2, '|': 2 };

/** Tells each whole value as it arrives. What is not RESP, such as TLS, tells nothing. */
export function createRespReader(tell: (value: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isResp = true;
  return (chunk) => {
    if (!isResp) return;
    rest = Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = endOfValue(rest, at); end !== 'incomplete'; end = endOfValue(rest, at)) {
      if (end === 'foreign') {
        isResp = false;
        return;
      }
      tell(rest.subarray(at, end));
      at = end;
    }
    rest = rest.subarray(at);
  };
}

/** The name of a command, in capitals. */
export function commandName(request: Buffer): string {
  // *2 $3 GET $3 key, each on a line of its own.
  const [, , name = ''] = request.toString('latin1', 0, 80).split('\r\n');
  return name.toUpperCase();
}

export function isPush(value: Buffer): boolean {
  return value.toString('latin1', 0, 1) === '>';
}

function endOfValue(bytes: Buffer, at: number): number | 'incomplete' | 'foreign' {
  if (at >= bytes.length) return 'incomplete';
  const type = bytes.toString('latin1', at, at + 1);
  const perPart = PARTS[type];
  if (!LINES.includes(type) && !BULKS.includes(type) && perPart === undefined) return 'foreign';
  const lineEnd = bytes.indexOf('\r\n', at);
  if (lineEnd === -1) return 'incomplete';
  const afterLine = lineEnd + 2;
  if (LINES.includes(type)) return afterLine;
  const length = Math.max(Number(bytes.toString('latin1', at + 1, lineEnd)), NOTHING);
  if (perPart !== undefined) {
    const parts = Math.max(length, 0) * perPart + (type === '|' ? 1 : 0);
    return endOfParts(bytes, afterLine, parts);
  }
  const end = length === NOTHING ? afterLine : afterLine + length + 2;
  return end <= bytes.length ? end : 'incomplete';
}

/** The length of a null in RESP 2. */
const NOTHING = -1;

function endOfParts(bytes: Buffer, from: number, parts: number): ReturnType<typeof endOfValue> {
  let at = from;
  for (let part = 0; part < parts; part += 1) {
    const end = endOfValue(bytes, at);
    if (typeof end === 'string') return end;
    at = end;
  }
  return at;
}
