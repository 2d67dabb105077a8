/**
 * Why a connection could not be made, by the code of the error. The message of an error is
 * never shown: it may contain the URL and other secrets.
 */

/** `dns`: the name is unknown. `refused`: nothing listens. `tls`: no TLS, or a certificate that is not trusted. `closed`: the server closed the connection. `malformed`: it did not speak HTTP, or had too many headers. */
export type ConnectProblem = 'dns' | 'refused' | 'tls' | 'closed' | 'malformed' | 'other';

/** Bun's error has the code, Node's has it in its cause. Empty if there is none. */
export function codeOf(error: unknown): string {
  for (const each of [error, error instanceof Error ? error.cause : undefined]) {
    if (each instanceof Error && 'code' in each && typeof each.code === 'string') return each.code;
  }
  return '';
}

export function describeConnectProblem(error: unknown): {
  readonly cause: ConnectProblem;
  readonly code?: string;
} {
  const code = codeOf(error);
  // Codes of the runtime have only these characters.
  return /^\w{1,60}$/.test(code) ? { cause: problemOf(code), code } : { cause: 'other' };
}

const problemOf = (code: string): ConnectProblem =>
  PROBLEMS.find(([, codes]) => codes.test(code))?.[0] ?? 'other';

const PROBLEMS: readonly (readonly [ConnectProblem, RegExp])[] = [
  ['dns', /^(?:ENOTFOUND|ENODATA|ESERVFAIL|EAI_AGAIN|EAI_NODATA|EAI_NONAME)$/],
  ['refused', /^(?:ECONNREFUSED|ConnectionRefused)$/],
  ['closed', /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|ConnectionClosed)$/],
  // Node's parser; Bun.
  ['malformed', /^(?:HPE_|Malformed_HTTP_Response$|InvalidHTTPResponse$|ResponseHeadersTooLarge$)/],
  // Bun reports EPROTO for a server that does not speak TLS.
  ['tls', /CERT|SIGNATURE|ISSUER|SSL|TLS|^EPROTO$|^UNABLE_TO_/],
];
