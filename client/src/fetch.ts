/** The platform of every runtime that has `fetch`. */
import { common, MAX_CHARACTERS, onStored, type Platform } from './platform.ts';

export interface FetchResponse {
  readonly status: number;
  readonly type?: string;
  readonly url?: string;
  readonly redirected?: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body?: unknown;
  text(): PromiseLike<string>;
}

export type Fetch = (url: string, init: object) => PromiseLike<FetchResponse>;

/** React Native has no streams, so the whole text is read there. */
async function readText(response: FetchResponse): Promise<string> {
  const body = response.body as Partial<ReadableStream<Uint8Array>> | null | undefined;
  const reader = body?.getReader?.();
  if (!reader) return (await response.text()).slice(0, MAX_CHARACTERS);
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_CHARACTERS) {
      void reader.cancel().catch(() => {});
      throw new Error(`more than ${MAX_CHARACTERS} characters`);
    }
  }
}

/** The target of a redirect, even if the platform followed it despite `redirect: 'manual'`. */
function redirectOf({ status, type, redirected, url, headers }: FetchResponse) {
  if (redirected) return { status: 302, location: url };
  if (type === 'opaqueredirect') return { status: 302, location: 'another address' };
  return { status, location: /^3/.test(`${status}`) ? headers.get('Location') : undefined };
}

/** True in a page and its workers, where CORS applies. Other runtimes have at most one of the two globals. */
const isPage =
  typeof location !== 'undefined' &&
  ('document' in globalThis || 'WorkerGlobalScope' in globalThis);

export const createPlatform = (
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): Platform => ({
  send({ url, body }, headers, receive) {
    const control = new AbortController();
    const { signal } = control;
    const post = body !== undefined && { method: 'POST', body };
    const init = { signal, redirect: 'manual', headers, ...post };
    const ask = async () => {
      const response = await fetch(url, init);
      const text = await readText(response);
      return { text, retryAfter: response.headers.get('Retry-After'), ...redirectOf(response) };
    };
    ask().then(
      (response) => signal.aborted || receive(response),
      (cause) => signal.aborted || receive({ status: 0, text: '', cause }),
    );
    return () => control.abort();
  },
  ...common,
  ...(isPage && { onStored, origin: location.origin }),
});
