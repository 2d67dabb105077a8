/** How `login` sends the requests of the SDK: it reports what goes wrong, and accepts any certificate if its user says so. */
import type { CallOptions } from '../../../client/src/index.ts';

/** A body is not compressed, since a short one may become a long one. */
export const HEADERS = { 'Accept-Encoding': 'identity' };

/** The SDK sends the request again. */
const TROUBLE = /^(3|408|425|429|5)/;

export interface RequestOptions {
  readonly relayUrl: string;
  readonly insecure: boolean;
  /** Called with what went wrong. */
  onTrouble(text: string): void;
}

type Fetch = NonNullable<CallOptions['fetch']>;

export function createFetch({ relayUrl, insecure, onTrouble }: RequestOptions): Fetch {
  return async (url, init: RequestInit) => {
    const isRelay = url.startsWith(`${relayUrl}/`);
    const who = isRelay ? 'the relay' : 'the provider';
    // Bun obeys `tls`. Node has only the variable, which it reads for each connection.
    if (insecure) process.env.NODE_TLS_REJECT_UNAUTHORIZED = isRelay ? '0' : '1';
    const tls = { rejectUnauthorized: !(insecure && isRelay) };
    try {
      // Of a body that comes compressed all the same, Bun gives the bytes as they are.
      const response = await fetch(url, { ...init, decompress: false, ...(insecure && { tls }) });
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
