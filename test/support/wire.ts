/** The device's side of the protocol, for tests that talk to a running relay. */
import { connect } from 'node:net';
import { plantSecret } from './secrets.ts';

/** Has the shape of a poll secret, so that the relay looks it up; no session has it. */
export const UNKNOWN_SECRET = 'A'.repeat(24);

/** Opens a session as a device does. The address should be allowed to. */
export async function startSession(baseUrl: string, service: string) {
  return plantStarted(await postStart(baseUrl, { service }));
}

/** The same with a user code. It is too short to be planted: a test that uses one looks for it itself. */
export async function startSessionWithCode(baseUrl: string, service: string, asked: object = {}) {
  const started = await postStart(baseUrl, { service, code: true, ...asked });
  const { userCode = '', link = '' } = started;
  return { ...plantStarted(started), userCode, link };
}

interface StartAnswer {
  readonly session: string;
  readonly url: string;
  readonly userCode?: string;
  readonly link?: string;
}

async function postStart(baseUrl: string, body: object): Promise<StartAnswer> {
  const response = await fetch(`${baseUrl}/auth/start`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`start: ${response.status}`);
  return (await response.json()) as StartAnswer;
}

function plantStarted({ session, url }: StartAnswer) {
  const state = new URL(url).searchParams.get('state') ?? '';
  return { session: plantSecret(session), state: plantSecret(state), url };
}

export function poll(baseUrl: string, session: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${baseUrl}/auth/result?session=${session}`, init);
}

/** A poll on a connection of its own: fetch would hold no more than 256 at once. */
export function parkPoll(baseUrl: string, session: string) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const request = `GET /auth/result?session=${session} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  const sent = new Promise<void>((resolve) => socket.write(request, () => resolve()));
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  socket.on('error', () => {});
  socket.resume();
  return { sent, closed, leave: () => void socket.destroy() };
}
