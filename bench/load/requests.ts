/** What devices and browsers send, as a proxy passes it on. `docs/protocol.md` §4. */

const BODY = JSON.stringify({ service: 'mal' });
const HOST = 'Host: relay.test\r\n';

let clients = 0;

/** Everybody comes from an address of their own, or the rate limit would bite. */
function nextClient(): string {
  clients += 1;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
}

export function startRequest(client: string = nextClient()): string {
  return `POST /auth/start HTTP/1.1\r\n${HOST}X-Forwarded-For: ${client}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
}

export function getRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\n${HOST}X-Forwarded-For: 10.0.0.1\r\n\r\n`;
}

export const pollRequest = (session: string) => getRequest(`/auth/result?session=${session}`);
export const authorizeRequest = (state: string) => getRequest(`/auth/mal?state=${state}`);

export const callbackRequest = (state: string, code: string) =>
  getRequest(`/auth/mal/callback?code=${code}&state=${state}`);

/** The person says no: ends a session without a word to the provider. */
export const cancelRequest = (state: string) =>
  getRequest(`/auth/mal/callback?error=access_denied&state=${state}`);

export interface AnyRequest {
  readonly method?: string;
  readonly path: string;
  readonly type?: string;
  readonly body?: string;
}

/** By a client of its own each time. */
export function anyRequest({ method = 'GET', path, type, body }: AnyRequest): string {
  const content =
    body === undefined
      ? ''
      : `Content-Type: ${type ?? 'application/x-www-form-urlencoded'}\r\nContent-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\n${HOST}X-Forwarded-For: ${nextClient()}\r\n${content}\r\n${body ?? ''}`;
}
