/**
 * `npm run check-profiles`, for a machine with a network: fetches the metadata and the pages that
 * the guides to providers link to, and reports what has moved, and how many could be
 * read. CONTRIBUTING.md says what to do then.
 */
import { printable } from '../src/cli/terminal.ts';
import type { Fetch } from '../src/providers/config.ts';
import { type Metadata, readMetadata } from '../src/providers/discovery.ts';
import { readGuides } from '../src/providers/guides.ts';
import { OWN_URL, PROFILES, type Profile } from '../src/providers/profiles.ts';

/** What was found at a link. */
type Found =
  /** What no longer matches a profile or a guide. */
  | { readonly moved: readonly string[] }
  /** Why it could not be read, now. */
  | { readonly unread: string };

/** All of them together, so that a person can wait for it. What is slower counts as unread. */
const ALL_PAGES_MS = 50_000;
const PAGE_TIMEOUT_MS = 15_000;

/** Many pages are at github.com, which limits requests. */
const PAGES_AT_ONCE = 12;

/**
 * `guides` have the text of each guide by the name of its provider. Returns lines about what has
 * moved and what could not be read, and how many links were read, whether they have moved or not.
 */
export async function checkProfiles(guides: Readonly<Record<string, string>>, fetch: Fetch) {
  const linked = new Map<string, string[]>();
  for (const [name, guide] of Object.entries(guides)) {
    for (const url of linksOf(guide + (PROFILES.get(name)?.deviceFlow ?? ''))) {
      linked.set(url, [...(linked.get(url) ?? []), name]);
    }
  }
  const moved: string[] = [];
  const unread: string[] = [];
  const deadline = AbortSignal.timeout(ALL_PAGES_MS);
  const waiting = linked.entries();
  async function work(): Promise<void> {
    for (const [url, names] of waiting) {
      const signal = AbortSignal.any([deadline, AbortSignal.timeout(PAGE_TIMEOUT_MS)]);
      const profiles = names.flatMap((name) => PROFILES.get(name) ?? []);
      const found =
        url.includes('/.well-known/') && profiles.length > 0
          ? await checkMetadata(profiles, url, fetch, signal)
          : await checkPage(url, fetch, signal);
      const lineOf = (text: string) => printable(`${names.join(', ')}: ${text}`);
      if ('moved' in found) moved.push(...found.moved.map(lineOf));
      else unread.push(lineOf(found.unread));
    }
  }
  // All take from one iterator.
  await Promise.all(Array.from({ length: PAGES_AT_ONCE }, work));
  return { moved, unread, read: linked.size - unread.length };
}

/** The page at which an app is registered, the sources, and the metadata (RFC 8414 §3). */
function linksOf(guide: string): ReadonlySet<string> {
  return new Set([...guide.matchAll(/<(https:[^>]+)>/g)].map(([, url = '']) => url));
}

async function checkPage(url: string, fetch: Fetch, signal: AbortSignal): Promise<Found> {
  try {
    const response = await fetch(url, {
      headers: { 'User-Agent': 'sign-in-relay check-profiles' },
      redirect: 'manual',
      signal,
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 404 || status === 410) return { moved: [`${url} is gone (${status})`] };
    if (status >= 400) return { unread: `${url} answers ${status}` };
    // Other redirects lead to a sign-in or to a language.
    if (status !== 301 && status !== 308) return { moved: [] };
    const target = new URL(response.headers.get('location') ?? '', url).href;
    return { moved: isSamePage(url, target) ? [] : [`${url} has moved to ${target}`] };
  } catch {
    return { unread: `${url} could not be read` };
  }
}
/** True if they differ only in a final slash or in `www.`. */
function isSamePage(url: string, target: string): boolean {
  const [one, other] = [url, target].map((text) => {
    const { host, pathname } = new URL(text);
    return host.replace(/^www\./, '') + pathname.replace(/\/$/, '');
  });
  return one === other;
}

async function checkMetadata(
  profiles: readonly Profile[],
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<Found> {
  const metadata = await readMetadata(url, fetch, signal);
  if ('problem' in metadata) {
    const { problem, status } = metadata;
    return status === 404 ? { moved: [problem] } : { unread: problem };
  }
  const differences = profiles.flatMap((profile) => findDifferences(profile, metadata));
  return { moved: differences.map((difference) => `${difference} in ${url}`) };
}

/** Metadata without a member does not contradict the profile. */
function findDifferences(profile: Profile, metadata: Metadata): readonly string[] {
  const own = (url: string | undefined) => url?.replace(OWN_URL, profile.defaultUrl ?? OWN_URL);
  const urls = [
    ['authorization endpoint', own(profile.authorizeUrl), metadata.authorization_endpoint],
    ['token endpoint', own(profile.tokenUrl), metadata.token_endpoint],
    ['revocation endpoint', own(profile.revocation?.url), metadata.revocation_endpoint],
  ] as const;
  const { code_challenge_methods_supported: challenges } = metadata;
  const { token_endpoint_auth_methods_supported: methods } = metadata;
  const pkce = challenges && (challenges.includes('S256') ? 'S256' : 'none');
  const clientAuth = `client_secret_${profile.clientAuth ?? 'post'}`;
  return [
    ...urls
      .filter(([, ours, theirs]) => theirs !== undefined && ours !== theirs)
      .map(([what, ours, theirs]) => `${what} ${ours ?? 'none'} is ${JSON.stringify(theirs)}`),
    ...(pkce !== undefined && profile.pkce !== pkce ? [`PKCE ${profile.pkce} is ${pkce}`] : []),
    ...(methods && !methods.includes(clientAuth)
      ? [`client secret by ${clientAuth} is missing`]
      : []),
    ...(methods?.includes('none') && profile.clientSecret === undefined
      ? ['a required client secret is optional']
      : []),
  ];
}

if (import.meta.main) {
  const { moved, unread, read } = await checkProfiles(readGuides(), fetch);
  const lines = [...unread.map((line) => `? ${line}`), ...moved.map((line) => `✗ ${line}`)];
  const counts = `${read} read, ${unread.length} unread, ${moved.length} moved`;
  process.stdout.write(`${[...lines, counts].join('\n')}\n`);
  // If nothing could be read, there is no network, and nothing was checked.
  process.exitCode = moved.length > 0 || read === 0 ? 1 : 0;
}
