/** What the played provider may answer at its token endpoint, well-behaved or not. */

import type { ServerResponse } from 'node:http';
import { sleep } from '../engine/wait.ts';

/** `trapUrl`: an address of the provider that nobody has any business to ask. */
export type Reply = (response: ServerResponse, trapUrl: string, tokenUrl: string) => void;

export function json(value: unknown, status = 200): Reply {
  return text(JSON.stringify(value), status);
}

export function text(body: string, status = 200, type = 'application/json'): Reply {
  return (response) => {
    response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
    response.end(body);
  };
}

/** Takes the request and says nothing, ever. */
export const silence: Reply = () => {};

/**
 * How often a request may be sent that meets `hangUp`: a relay that keeps
 * connections cannot tell it from one that was closed before the request came.
 */
export const HANG_UPS = 2;

/** Closes the connection without an answer. */
export const hangUp: Reply = (response) => {
  response.socket?.destroy();
};

/** Announces more than it sends, then closes. */
export function cutShort(body: string): Reply {
  return (response) => {
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body) + 100),
    });
    response.write(body, () => response.socket?.destroy());
  };
}

/** Headers at once, then a space every half second, until the other side gives up. */
export const drip: Reply = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 500);
  response.on('close', () => clearInterval(timer));
};

export function after(ms: number, reply: Reply): Reply {
  return (response, trapUrl, tokenUrl) => {
    void sleep(ms).then(() => reply(response, trapUrl, tokenUrl));
  };
}

/** To an address that would answer with tokens: `trap`, or the token endpoint once more. */
export function redirect(status: number, to: 'trap' | 'token'): Reply {
  return (response, trapUrl, tokenUrl) => {
    response.writeHead(status, { Location: to === 'trap' ? trapUrl : tokenUrl });
    response.end();
  };
}
