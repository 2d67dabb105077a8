/** The build for old TV engines (webOS 3, Tizen 3). It uses XMLHttpRequest, and has no `fetch`, no signals and no lock. Its global is `SignInRelay`. */
import { discover, type Offer } from './offer.ts';
import { common, onStored, type Platform } from './platform.ts';
import { createCore, openOnce, type Session, type SessionOptions } from './session.ts';
import type { Relay } from './tokens.ts';

export type * from './index.ts';
export type { Session, SessionOptions } from './session.ts';

const platform: Platform = {
  ...common,
  send({ url, body }, headers, receive) {
    const request = new XMLHttpRequest();
    let isAbandoned = false;
    const end = () => {
      if (isAbandoned) return;
      const retryAfter = request.getResponseHeader('Retry-After');
      receive({ status: request.status, text: request.responseText, retryAfter });
    };
    request.onloadend = end;
    try {
      request.open(body === undefined ? 'GET' : 'POST', url);
      for (const name in headers) request.setRequestHeader(name, headers[name] as string);
      request.send(body);
    } catch {
      setTimeout(end, 0);
    }
    return () => {
      isAbandoned = true;
      request.abort();
    };
  },
  onStored,
  origin: location.origin,
};

export interface SignInRelay {
  /** Opens a session, like `createSession` of the module. */
  createSession(options: SessionOptions): Session;
  /** What the relay offers, in the operator's order. Rejects if there is no relay. */
  discover(options: Relay): Promise<Offer>;
}

declare global {
  var SignInRelay: SignInRelay;
}

self.SignInRelay = {
  createSession: (options) =>
    openOnce(options, (items, key) => createCore(platform, options, items, key, (run) => run())),
  discover: (options) => discover({ platform, options }),
};
