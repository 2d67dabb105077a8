/** `npm run docs`: VitePress makes a site of docs/, without a page of its own. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig, type MarkdownRenderer } from 'vitepress';
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
    anchor: { slugify: anchorOf },
    languageAlias: { brightscript: 'vb', caddyfile: 'nginx' },
    config: adaptToSite,
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      ...groups.map(({ text, anchor }) => ({ text, link: `/documentation#${anchor}` })),
      { text: 'Source', link: REPOSITORY_URL },
    ],
    sidebar: groups.map(({ text, items }) => ({ text, items, collapsed: true })),
  },
});

/**
 * The sources stay as GitHub needs them. On the site a link names a page by its title,
 * not by its file, and an indented block is styled like a fenced one.
 */
function adaptToSite(md: MarkdownRenderer): void {
  md.core.ruler.push('adapt-to-site', ({ tokens, env }) => {
    for (const token of tokens) if (token.type === 'code_block') token.type = 'fence';
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
