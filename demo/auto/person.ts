/** Does what a person would do in a browser: opens the link, fills in the form, goes where that leads. */
import { createCookieJar } from './cookie-jar.ts';

/** The page on which the way ends. */
export interface LastPage {
  readonly status: number;
  readonly title: string;
  /** Without its query, which holds secrets. */
  readonly address: string;
}

interface Page extends LastPage {
  readonly url: URL;
  readonly hasForm: boolean;
}

const MAX_REDIRECTS = 10;

export async function signInAs(name: string, link: string, signal: AbortSignal): Promise<LastPage> {
  const visit = createBrowser(signal);
  const page = await visit(new URL(link));
  if (!page.hasForm) throw new Error(`The link led to no sign-in form but to "${page.title}".`);
  return visit(page.url, new URLSearchParams({ name, password: 'any', answer: 'allow' }));
}

function createBrowser(signal: AbortSignal) {
  const jar = createCookieJar();

  return async function visit(address: URL, form?: URLSearchParams): Promise<Page> {
    let url = address;
    let body = form;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await fetch(url, {
        redirect: 'manual',
        headers: { Cookie: jar.headerFor(url) },
        signal,
        ...(body && { method: 'POST', body }),
      });
      jar.take(url, response.headers.getSetCookie());
      const location = response.headers.get('Location');
      if (location === null) return readPage(url, response);
      url = new URL(location, url);
      body = undefined;
    }
    throw new Error(`More than ${MAX_REDIRECTS} redirects, at last to ${url.origin}.`);
  };
}

async function readPage(url: URL, response: Response): Promise<Page> {
  const html = await response.text();
  return {
    url,
    status: response.status,
    title: /<title>([^<]*)<\/title>/.exec(html)?.[1] ?? 'no title',
    address: url.origin + url.pathname,
    hasForm: html.includes('<form'),
  };
}
