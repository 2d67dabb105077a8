/**
 * `npm run check-profiles`, for a machine with a network: fetches the metadata and the pages that
 * the profiles name, and reports what has moved. CONTRIBUTING.md says what to do then.
 */
import { printable } from '../src/cli/terminal.ts';
import type { Fetch } from '../src/providers/config.ts';
import { type Metadata, readMetadata } from '../src/providers/discovery.ts';
import { PROFILES } from '../src/providers/known.ts';
import { OWN_URL, type Profile } from '../src/providers/profile.ts';

export interface Report {
  /** Lines about what is no longer as a profile says. */
  readonly moved: readonly string[];
  /** Lines about what could not be read, now. */
  readonly unread: readonly string[];
  /** Pages and metadata that were asked for. */
  readonly asked: number;
}

type Finding = { readonly kind: 'moved' | 'unread'; readonly text: string };

/** Slow pages are read as late as this, once. */
const PAGE_TIMEOUT_MS = 20_000;

/** Many pages are at github.com, which limits requests. */
const PAGES_AT_ONCE = 4;

export async function checkProfiles(
  profiles: Iterable<readonly [string, Profile]>,
  fetch: Fetch,
): Promise<Report> {
  const named = new Map<string, string[]>();
  const tasks: (() => Promise<readonly Finding[]>)[] = [];
  for (const [name, profile] of profiles) {
    for (const url of pagesOf(profile)) named.set(url, [...(named.get(url) ?? []), name]);
    const { metadata } = profile;
    if (metadata !== undefined) tasks.push(() => checkMetadata(name, profile, metadata, fetch));
  }
  for (const [url, names] of named) tasks.push(() => checkPage(names.join(', '), url, fetch));
  const findings = await runAll(tasks);
  const linesOf = (kind: Finding['kind']) =>
    findings.filter((finding) => finding.kind === kind).map(({ text }) => printable(text));
  return { moved: linesOf('moved'), unread: linesOf('unread'), asked: tasks.length };
}

/** Those of servers that people host themselves are nowhere in particular. */
function pagesOf({ registration, sources }: Profile): readonly string[] {
  const pages = [registration, ...sources];
  return pages.filter((url) => !url.includes(OWN_URL));
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

async function checkPage(names: string, url: string, fetch: Fetch): Promise<readonly Finding[]> {
  const found = (kind: Finding['kind'], problem: string) => {
    return [{ kind, text: `${names}: ${url} ${problem}` }];
  };
  try {
    const response = await fetch(url, {
      headers: { 'User-Agent': 'sign-in-relay check-profiles' },
      redirect: 'manual',
      signal: AbortSignal.timeout(PAGE_TIMEOUT_MS),
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 404 || status === 410) return found('moved', `is gone (${status})`);
    if (status === 429 || status >= 500) return found('unread', `answers ${status}`);
    // The others lead to a sign-in, or to a language.
    if (status !== 301 && status !== 308) return [];
    const target = new URL(response.headers.get('location') ?? '', url).href;
    return isSamePage(url, target) ? [] : found('moved', `has moved to ${target}`);
  } catch {
    return found('unread', 'could not be read');
  }
}

/** Whether they differ only in a final slash or in `www.`. */
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
): Promise<readonly Finding[]> {
  const metadata = await readMetadata(url, fetch, AbortSignal.timeout(PAGE_TIMEOUT_MS));
  if ('problem' in metadata) {
    const kind = metadata.isMissing ? 'moved' : 'unread';
    return [{ kind, text: `${name}: ${metadata.problem}` }];
  }
  return findDifferences(profile, metadata).map((difference) => {
    return { kind: 'moved', text: `${name}: ${difference} in ${url}` } as const;
  });
}

/** Metadata that does not say a thing contradicts nothing. */
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
  const { moved, unread, asked } = await checkProfiles(PROFILES, fetch);
  const lines = [
    ...unread.map((line) => `? ${line}`),
    ...moved.map((line) => `✗ ${line}`),
    `${moved.length} moved, ${unread.length} of ${asked} could not be read`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  // Without a network nothing was checked.
  process.exitCode = moved.length > 0 || unread.length === asked ? 1 : 0;
}
