/** A user without a browser: opens the link, fills in the provider's form and follows the redirects. */

interface Page {
  readonly url: URL;
  readonly status: number;
  readonly title: string;
}

/** Returns the last page. */
export async function signInAs(name: string, link: string, signal: AbortSignal): Promise<Page> {
  /** Origin -> name -> value. No cookie that is met here depends on its path. */
  const cookies: Record<string, Record<string, string>> = {};

  async function visit(url: URL, form?: URLSearchParams): Promise<Page> {
    cookies[url.origin] ??= {};
    const jar = cookies[url.origin] ?? {};
    const response = await fetch(url, {
      redirect: 'manual',
      headers: {
        Cookie: Object.entries(jar)
          .map((pair) => pair.join('='))
          .join('; '),
      },
      signal,
      ...(form && { method: 'POST', body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const cookie = Bun.Cookie.parse(line);
      if (cookie.isExpired()) delete jar[cookie.name];
      else jar[cookie.name] = cookie.value;
    }
    const location = response.headers.get('Location');
    if (location !== null) return visit(new URL(location, url));
    const title = /<title>([^<]*)/.exec(await response.text())?.[1] ?? 'no title';
    return { url, status: response.status, title };
  }

  const { url } = await visit(new URL(link));
  return visit(url, new URLSearchParams({ name, password: 'any', answer: 'allow' }));
}
