/**
 * Whatever the sources and the documentation cite is there: pages of docs/, their
 * sections and headings, files of this repository, links and their anchors, URLs of the documentation.
 * A citation has one of three forms: the page alone, the page with `§` and the number
 * of a section, or the page with a heading in double quotes, and nothing between.
 */
import { expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { GROUPS } from '../../conformance/groups/index.ts';
import { anchorOf } from '../../docs/.vitepress/site.ts';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = join(import.meta.dir, '../..');
const TOP = 'src|test|conformance|bench|demo|examples|scripts|deploy|docs|client';
const ENDINGS = 'ts|tsx|mjs|py|sh|md|json|yaml|conf|acl|png|svg';

const PATTERNS = [
  `{${TOP.replaceAll('|', ',')}}/**/*.{ts,tsx,mjs,py,sh,md,json,yaml,conf,acl}`,
  'deploy/Dockerfile',
  '*.{md,json}',
];

const sources = PATTERNS.flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(ROOT)])
  // Vectors and catalogues cite nothing.
  .filter(
    (path) =>
      !/node_modules|(?:^|\/)dist\/|sealing-vectors|catalogue\.json|package-lock/.test(path),
  )
  .sort();

/** Undefined when there is no such page. */
function readHeadings(path: string) {
  if (!existsSync(join(ROOT, path))) return undefined;
  const page = withoutCode(readFileSync(join(ROOT, path), 'utf8'));
  const titles = [...page.matchAll(/^#+ +(.+?) *$/gm)].map(([, title = '']) => title);
  const anchors = new Set<string>();
  for (const title of titles) {
    const anchor = anchorOf(title);
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  const numbered = titles.map((title) => /^([\d.]*\d)?\.? *(.*)$/.exec(title) ?? []);
  return {
    texts: new Set(numbered.map(([, , text = '']) => text.replaceAll('`', ''))),
    sections: new Set(numbered.flatMap(([, number]) => number ?? [])),
    anchors,
  };
}

function withoutCode(page: string): string {
  return page.replace(/^( *)(```+|~~~+).*?^\1?\2/gms, '');
}

/** Comments as running text, so that a citation may be broken between two lines. */
function asRunningText(text: string): string {
  return text.replace(/\s*\n\s*(\*(?!\/)|\/\/|#(?!#))?\s*/g, ' ');
}

function findProblems(path: string, text: string): string[] {
  const running = asRunningText(text);
  return [
    ...(path.endsWith('.md') ? findWrongLinks(path, text) : []),
    ...findWrongPages(running),
    ...findMissingFiles(running),
    ...findWrongUrls(running),
  ];
}

const PAGE = /(?<![\w-])docs\/([\w-]+)\.md(?: §([\d.]*\d)| "([^"\n]+)"|`? ?, ?"?([A-Z][\w ]+))?/g;

function findWrongPages(text: string): string[] {
  return [...text.matchAll(PAGE)].flatMap(([whole, page = '', section, heading, wrongForm]) => {
    const headings = readHeadings(`docs/${page}.md`);
    if (headings === undefined) return [`${whole}: there is no such page`];
    if (section !== undefined && !headings.sections.has(section)) return [`${whole}: no section`];
    if (heading !== undefined && !headings.texts.has(heading)) return [`${whole}: no heading`];
    if (wrongForm === undefined) return [];
    // A capital may also begin an ordinary word after the page.
    return [...headings.texts].some((known) => known !== '' && wrongForm.startsWith(known))
      ? [`${whole}: write docs/${page}.md "Heading"`]
      : [];
  });
}

/** A path from the top of the repository, or the end of a path of a source. Imports begin with a dot. */
const FILE = new RegExp(
  `(?<![\\w./@$-])((?:${TOP})/[\\w./-]+?\\.(?:${ENDINGS})|\\w[\\w/-]*\\.tsx?)(?![\\w-])`,
  'g',
);

function findMissingFiles(text: string): string[] {
  return [...text.matchAll(FILE)].flatMap(([, path = '']) => {
    // PAGE has found these.
    if (/^docs\/[\w-]+\.md$/.test(path) || existsSync(join(ROOT, path))) return [];
    const isKnown = sources.some((source) => source.endsWith(`/${path}`));
    return isKnown ? [] : [`${path}: there is no such file`];
  });
}

const LINK = /!?\[(?:[^\]\\]|\\.)*\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g;

function findWrongLinks(path: string, text: string): string[] {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, '``');
  return [...prose.matchAll(LINK)].flatMap(([, address = '']) => {
    if (/^[a-z]+:/.test(address)) return [];
    const [file = '', anchor] = address.split('#');
    const target = file === '' ? path : normalize(join(dirname(path), file));
    if (!existsSync(join(ROOT, target))) return [`${address}: there is no such file`];
    if (anchor === undefined || statSync(join(ROOT, target)).isDirectory()) return [];
    return readHeadings(target)?.anchors.has(anchor) ? [] : [`${address}: no such heading`];
  });
}

const DOCS_URL = new RegExp(`${RegExp.escape(packageJson.homepage)}/([\\w-]+)(?:#([\\w-]+))?`, 'g');

/** The wrong URLs of published pages of docs/, such as that of a runbook. */
function findWrongUrls(text: string): string[] {
  return [...text.matchAll(DOCS_URL)].flatMap(([url, page = '', anchor]) => {
    const headings = readHeadings(`docs/${page}.md`);
    if (headings === undefined) return [`${url}: there is no such page`];
    return anchor === undefined || headings.anchors.has(anchor) ? [] : [`${url}: no such heading`];
  });
}

test.each(sources)('what %s cites is there', (path) => {
  expect(findProblems(path, readFileSync(join(ROOT, path), 'utf8'))).toEqual([]);
});

test('a case of the conformance suite names a section that is there', () => {
  const { texts } = readHeadings('docs/protocol.md') ?? { texts: new Set() };
  const sections = GROUPS.flatMap(({ cases }) =>
    cases.flatMap(({ title }) => (title.split(': ', 1)[0] ?? '').split('; ')),
  );
  const isKnown = (section: string) =>
    texts.has(section) || /^RFC \d+ §[\d.]*\d$|^docs\/[\w-]+\.md "[^"]+"$/.test(section);
  expect(sections.filter((section) => !isKnown(section))).toEqual([]);
});

/** A reader sees titles in a list. */
const TITLE_CHARACTERS = 80;
/** A literal before the function of a test or a group. */
const TITLE =
  /(?:\b(?:test|describe)[\w.]*|\))\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1,\s*(?:async )?[\w(]/g;

test('a title is a rule of at most 80 characters, without the sections before it', () => {
  const files = [...new Bun.Glob('test/*/**/*.ts').scanSync(ROOT)].filter(
    (path) => !path.includes('node_modules'),
  );
  const titles = files.flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(TITLE)].map(([, , title = '']) => title),
  );
  expect(titles.length).toBeGreaterThan(1_000);
  const rules = GROUPS.flatMap(({ cases }) => cases).map(({ title }) => title.split(/: (.*)/s)[1]);
  const all = [...titles, ...rules.map(String)];
  expect(all.filter((title) => title.length > TITLE_CHARACTERS)).toEqual([]);
});
