/** A user without a browser: opens the link, fills in the provider's form and follows the redirects. */
import { createUser } from './user.ts';

/** Returns the last page. */
export async function signInAs(name: string, link: string, signal: AbortSignal) {
  // One jar for relay and provider, whose cookies have different names.
  const user = createUser({
    ask: (address, init) => fetch(address, { redirect: 'manual', signal, ...init }),
  });
  async function visit(url: URL, init?: RequestInit) {
    let [page, response] = [url, await user.open(url.href, init)];
    for (let to = response.headers.get('Location'); to; to = response.headers.get('Location')) {
      page = new URL(to, page);
      response = await user.open(page.href);
    }
    const title = /<title>([^<]*)/.exec(await response.text())?.[1] ?? 'no title';
    return { url: page, status: response.status, title };
  }
  const { url } = await visit(new URL(link));
  const form = { name, password: 'any', answer: 'allow' };
  return visit(url, { method: 'POST', body: new URLSearchParams(form) });
}
