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

export interface Report {
  /** Lines about facts that no longer match a profile. */
  readonly moved: readonly string[];
  /** Lines about what could not be read, now. */
  readonly unread: readonly string[];
  /** How many were read, whether they have moved or not. */
  readonly read: number;
}

interface Finding {
  readonly kind: 'read' | 'moved' | 'unread';
  readonly names: readonly string[];
  readonly text: string;
}

/** All of them together, so that a person can wait for it. What is slower counts as unread. */
const ALL_PAGES_MS = 50_000;
const PAGE_TIMEOUT_MS = 15_000;

/** Many pages are at github.com, which limits requests. */
const PAGES_AT_ONCE = 12;

/** `guides` have the text of each guide by the name of its provider. */
export async function checkProfiles(
  guides: Readonly<Record<string, string>>,
  fetch: Fetch,
): Promise<Report> {
  const deadline = AbortSignal.timeout(ALL_PAGES_MS);
  const named = new Map<string, string[]>();
  const tasks: (() => Promise<readonly Finding[]>)[] = [];
  const signal = () => AbortSignal.any([deadline, AbortSignal.timeout(PAGE_TIMEOUT_MS)]);
  for (const [name, guide] of Object.entries(guides)) {
    const profile = PROFILES.get(name);
    for (const url of linksOf(guide + (profile?.deviceFlow ?? ''))) {
      if (profile !== undefined && url.includes('/.well-known/')) {
        tasks.push(() => checkMetadata(name, profile, url, fetch, signal()));
      } else {
        named.set(url, [...(named.get(url) ?? []), name]);
      }
    }
  }
  for (const [url, names] of named) {
    tasks.push(async () => [await checkPage(names, url, fetch, signal())]);
  }
  const findings = await runAll(tasks);
  const linesOf = (kind: Finding['kind']) =>
    findings
      .filter((finding) => finding.kind === kind)
      .map(({ names, text }) => printable(`${names.join(', ')}: ${text}`));
  return {
    moved: linesOf('moved'),
    unread: linesOf('unread'),
    read: findings.filter(({ kind }) => kind === 'read').length,
  };
}

/** The page at which an app is registered, the sources, and the metadata (RFC 8414 §3). */
function linksOf(guide: string): ReadonlySet<string> {
  return new Set([...guide.matchAll(/<(https:[^>]+)>/g)].map(([, url = '']) => url));
}

async function runAll<T>(tasks: readonly (() => Promise<readonly T[]>)[]): Promise<readonly T[]> {
  const results: T[] = [];
  const waiting = tasks.values();
  const work = async () => {
    for (const task of waiting) results.push(...(await task()));
  };
  await Promise.all(Array.from({ length: PAGES_AT_ONCE }, work));
  return results;
}

async function checkPage(
  names: readonly string[],
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<Finding> {
  const found = (kind: Finding['kind'], problem = '') => {
    return { kind, names, text: `${url} ${problem}` } as const;
  };
  try {
    const response = await fetch(url, {
      headers: { 'User-Agent': 'sign-in-relay check-profiles' },
      redirect: 'manual',
      signal,
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 404 || status === 410) return found('moved', `is gone (${status})`);
    if (status >= 400) return found('unread', `answers ${status}`);
    // Other redirects lead to a sign-in or to a language.
    if (status !== 301 && status !== 308) return found('read');
    const target = new URL(response.headers.get('location') ?? '', url).href;
    return isSamePage(url, target) ? found('read') : found('moved', `has moved to ${target}`);
  } catch {
    return found('unread', 'could not be read');
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
  name: string,
  profile: Profile,
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const found = (kind: Finding['kind'], text: string) => ({ kind, names: [name], text }) as const;
  const metadata = await readMetadata(url, fetch, signal);
  if ('problem' in metadata) {
    return [found(metadata.status === 404 ? 'moved' : 'unread', metadata.problem)];
  }
  const differences = findDifferences(profile, metadata);
  return [
    found('read', url),
    ...differences.map((difference) => found('moved', `${difference} in ${url}`)),
  ];
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
