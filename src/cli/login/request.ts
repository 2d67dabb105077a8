/** How `login` and `logout` send the requests of the SDK. */
import type { CallOptions } from '../../../client/src/index.ts';

/** A body is not compressed, since a short one may become a long one. */
export const HEADERS = { 'Accept-Encoding': 'identity' };

/** The SDK sends the request again. */
const TROUBLE = /^(3|408|425|429|5)/;

type Fetch = NonNullable<CallOptions['fetch']>;

/** `onTrouble` is called with what goes wrong. */
export function createFetch(relayUrl: string, onTrouble: (text: string) => void): Fetch {
  return async (url, init: RequestInit) => {
    const who = url.startsWith(`${relayUrl}/`) ? 'the relay' : 'the provider';
    try {
      // Of a body that comes compressed all the same, Bun gives the bytes as they are.
      const response = await fetch(url, { ...init, decompress: false });
      const { status, headers } = response;
      const isPage = /html/.test(headers.get('Content-Type') ?? '');
      // A proxy that passes on nothing but /auth/ has a page for what the SDK asks first.
      if (isPage && status !== 404) onTrouble(`${who} answered ${status} with a web page`);
      else if (TROUBLE.test(`${status}`)) onTrouble(`${who} answered ${status}`);
      return response;
    } catch (error) {
      if (!init.signal?.aborted) onTrouble(`${who} does not answer`);
      throw error;
    }
  };
}
