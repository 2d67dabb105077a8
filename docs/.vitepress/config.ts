/** `npm run docs`: VitePress makes a site of docs/. The home page, docs/index.md, is its only page of its own. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type DefaultTheme, defineConfig, type MarkdownRenderer } from 'vitepress';
import {
  anchorOf,
  BASE,
  listExcluded,
  nameOf,
  placeOf,
  REPOSITORY_URL,
  ROOT,
  readNavigation,
  resolveLink,
} from './site.ts';

const groups = readNavigation();

/** Pages with others below them. */
const PARENTS = groups.flatMap(({ items }) =>
  items.filter(({ items: below }) => below).map(({ link }) => link),
);

/** Lists all pages, and below `open` its own. Nothing folds, so no button is within a button. */
function listPages(open: string): DefaultTheme.SidebarItem[] {
  return groups.map(({ text, items }) => ({
    text,
    items: items.map((item) => (item.link === open ? item : { text: item.text, link: item.link })),
  }));
}

export default defineConfig({
  title: 'Sign-in Relay',
  description: 'OAuth 2.0 sign-in for devices that have no browser.',
  base: BASE,
  srcDir: '..',
  srcExclude: listExcluded(),
  outDir: '../dist/site',
  cleanUrls: true,
  head: [['style', {}, readFileSync(join(ROOT, 'docs/.vitepress/style.css'), 'utf8')]],
  rewrites: placeOf,
  markdown: {
    // Every colour of these has enough contrast (WCAG 2.2, 1.4.3).
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    languageAlias: { brightscript: 'vb', caddyfile: 'nginx' },
    config: adaptToSite,
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    notFound: { linkLabel: 'Take me home' },
    nav: [
      { text: 'Overview', link: '/overview' },
      ...groups.map(({ text, anchor }) => ({ text, link: `/documentation#${anchor}` })),
      { text: 'Source', link: REPOSITORY_URL },
    ],
    // VitePress takes the first that a page's path begins with, also among /devices and /.
    sidebar: Object.fromEntries([...PARENTS, '/'].map((link) => [link, listPages(link)] as const)),
  },
});

/**
 * The sources stay as GitHub needs them. On the site a link names a page by its title,
 * not by its file, an indented block is styled like a fenced one, and the empty head of a
 * column is no heading.
 */
function adaptToSite(md: MarkdownRenderer): void {
  md.core.ruler.push('adapt-to-site', ({ tokens, env }) => {
    for (const token of tokens) if (token.type === 'code_block') token.type = 'fence';
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[index + 1]?.content) continue;
      for (const each of [token, tokens[index + 2]]) if (each) each.tag = 'td';
    }
    const from = relative(ROOT, env.realPath ?? env.path);
    const inline = tokens.flatMap(({ children }) => children ?? []);
    for (const [index, token] of inline.entries()) {
      const link = token.type === 'link_open' && decodeURI(token.attrGet('href') ?? '');
      if (!link) continue;
      token.attrSet('href', resolveLink(from, link));
      const text = inline[index + 1];
      if (text?.type === 'text') text.content = nameOf(from, link, text.content);
    }
  });
}
