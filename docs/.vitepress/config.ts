/** `npm run docs`: VitePress makes a site of docs/, without a page of its own. */
import { relative } from 'node:path';
import { defineConfig, type MarkdownRenderer } from 'vitepress';
import {
  anchorOf,
  BASE,
  listExcluded,
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

/** Links stay as GitHub needs them in the sources. An indented block is styled like a fenced one. */
function adaptToSite(md: MarkdownRenderer): void {
  md.core.ruler.push('adapt-to-site', ({ tokens, env }) => {
    for (const token of tokens) if (token.type === 'code_block') token.type = 'fence';
    const from = relative(ROOT, env.realPath ?? env.path);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const link = token.type === 'link_open' && token.attrGet('href');
      if (link) token.attrSet('href', resolveLink(from, decodeURI(link)));
    }
  });
}
