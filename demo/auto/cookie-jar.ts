/** As much of RFC 6265 as one person at one provider needs: name, value, path, end. */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

export interface CookieJar {
  /** The `Cookie` header for an address; empty when there are none. */
  headerFor(address: URL): string;
  take(address: URL, setCookies: readonly string[]): void;
}

export function createCookieJar(): CookieJar {
  const cookies = new Map<string, Cookie>();
  return {
    headerFor({ host, pathname }) {
      return [...cookies.values()]
        .filter((cookie) => cookie.host === host && covers(cookie.path, pathname))
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ');
    },
    take({ host }, setCookies) {
      for (const line of setCookies) {
        const parsed = Bun.Cookie.parse(line);
        const key = `${host}${parsed.path} ${parsed.name}`;
        if (parsed.isExpired()) cookies.delete(key);
        else cookies.set(key, { name: parsed.name, value: parsed.value, host, path: parsed.path });
      }
    },
  };
}

/** RFC 6265 §5.1.4. */
function covers(cookiePath: string, path: string): boolean {
  return path === cookiePath || path.startsWith(cookiePath.replace(/\/?$/, '/'));
}
