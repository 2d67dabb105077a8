/** The documentation site, as readers get it: every link leads somewhere, and nothing is loaded from elsewhere. */
import { beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASE, type Item, REPOSITORY_URL, readNavigation } from '../../docs/.vitepress/site.ts';
import { findViolations, launchChromium } from '../kit/chromium.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { serveUpstream } from '../kit/provider.ts';

const ROOT = join(import.meta.dir, '../..');
const folder = newFolder();
const origin = 'https://sign-in-relay.example';

const pages = new Map<string, ReturnType<typeof readPage>>();

beforeAll(async () => {
  // As `npm run docs` does.
  await runChild([process.execPath, 'scripts/write-provider-pages.ts'], { cwd: ROOT });
  const vitepress = [
    join(ROOT, 'docs/node_modules/.bin/vitepress'),
    'build',
    'docs',
    '--outDir',
    folder,
  ];
  const { exitCode, output } = await runChild(vitepress, { cwd: ROOT });
  if (exitCode !== 0) throw new Error(output);
  const names = [...new Bun.Glob('**/*.html').scanSync(folder)].filter(
    (name) => name !== '404.html',
  );
  for (const name of names) pages.set(addressOf(name), readPage(join(folder, name)));
}, 300_000);

const addressOf = (name: string) => `${BASE}${name.replace(/(^|\/)index\.html$|\.html$/, '$1')}`;

function readPage(path: string) {
  const page = { ids: new Set<string>(), links: [] as string[], loaded: [] as string[] };
  const read = (list: string[], name: string) => (element: HTMLRewriterTypes.Element) => {
    const value = element.getAttribute(name);
    if (value) list.push(value);
  };
  new HTMLRewriter()
    .on('[id]', { element: (element) => void page.ids.add(element.getAttribute('id') ?? '') })
    .on('a', { element: read(page.links, 'href') })
    .on('link', { element: read(page.loaded, 'href') })
    .on('[src]', { element: read(page.loaded, 'src') })
    .transform(readFileSync(path, 'utf8'));
  return page;
}

/** Undefined if the link leads somewhere, as far as that is known here. */
function findProblem(from: string, link: string): string | undefined {
  const url = new URL(link, `${origin}${from}`);
  if (url.href.startsWith(`${REPOSITORY_URL}/blob/HEAD/`)) {
    const path = url.pathname.slice(new URL(`${REPOSITORY_URL}/blob/HEAD/`).pathname.length);
    return existsSync(join(ROOT, path)) ? undefined : `${from}: ${path} is not in the repository`;
  }
  if (url.origin !== origin) return undefined;
  const page = pages.get(url.pathname);
  if (page === undefined) return `${from}: there is no page ${url.pathname}`;
  const anchor = decodeURIComponent(url.hash.slice(1));
  if (anchor === '' || page.ids.has(anchor)) return undefined;
  return `${from}: ${url.pathname} has no heading ${anchor}`;
}

test('every link of every page leads to a heading, or to a file of the repository', () => {
  expect(pages.size).toBeGreaterThan(60);
  const links = [...pages].flatMap(([from, page]) => page.links.map((link) => ({ from, link })));
  expect(links.flatMap(({ from, link }) => findProblem(from, link) ?? [])).toEqual([]);
});

test('the navigation has every page', () => {
  const listLinks = (items: readonly Item[]): string[] =>
    items.flatMap(({ link, items: below = [] }) => [link, ...listLinks(below)]);
  const listed = readNavigation().flatMap(({ items }) => listLinks(items));
  const all = [...pages.keys()].map((address) => address.replace(BASE, '/'));
  expect(all.filter((address) => !listed.includes(address)).sort()).toEqual([
    '/',
    '/documentation',
    '/overview',
  ]);
});

test('a page loads nothing from elsewhere', () => {
  const loaded = [...pages.values()].flatMap((page) => page.loaded);
  expect(loaded.filter((address) => !/^data:/.test(address) && !address.startsWith(BASE))).toEqual(
    [],
  );
});

const inBrowser = test.if(
  has('Chromium', 'the documentation site is accessible, and cuts nothing off'),
);

const shown = ['index', 'qr', 'scaling', 'configuration', 'providers/spotify'].flatMap((name) => [
  [name, 'light'] as const,
  [name, 'dark'] as const,
]);

inBrowser.each(shown)('page %s, %s: accessible, no code is cut off', async (name, colorScheme) => {
  using server = serveUpstream(
    ({ url }) => new Response(Bun.file(join(folder, new URL(url).pathname.slice(BASE.length)))),
  );
  const browser = await launchChromium();
  const page = await browser.newPage({ colorScheme, viewport: { width: 1_280, height: 800 } });
  await page.goto(`${server.origin}${BASE}${name}.html`);
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('html, pre')]
      .filter((element) => element.scrollWidth > element.clientWidth)
      .map((element) => element.textContent?.slice(0, 80)),
  );
  expect({ cut, violations: await findViolations(page) }).toEqual({ cut: [], violations: [] });
  await browser.close();
});
