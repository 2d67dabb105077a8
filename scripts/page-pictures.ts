/**
 * Takes pictures of every page that a user may see, and writes them to docs/images:
 * npx bun scripts/page-pictures.ts. With a folder as argument, one picture for each page
 * and state goes there instead, to look at closely.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium, showPage } from '../test/kit/chromium.ts';
import { BRANDED, renderEveryPage } from '../test/kit/pages.ts';

const PHONE = { width: 360, height: 640 };

/** Which pages, and how they look. */
const SHEETS = {
  light: { scheme: 'light', language: 'en', branding: {} },
  dark: { scheme: 'dark', language: 'en', branding: {} },
  branded: { scheme: 'light', language: 'en', branding: BRANDED },
  'branded-dark': { scheme: 'dark', language: 'de', branding: BRANDED },
  arabic: { scheme: 'light', language: 'ar', branding: BRANDED },
} as const;

const [folder] = process.argv.slice(2);
const browser = await launchChromium();
for (const [name, { scheme, language, branding }] of Object.entries(SHEETS)) {
  const context = await browser.newContext({ viewport: PHONE, colorScheme: scheme });
  const page = await context.newPage();
  const cells: string[] = [];
  for (const [title, html] of Object.entries(renderEveryPage(language, branding))) {
    await showPage(page, html, branding);
    const picture = await page.screenshot({ fullPage: folder !== undefined });
    if (folder) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${name}-${title}.png`), picture);
    }
    cells.push(cellOf(title, picture.toString('base64')));
  }
  if (!folder) await writeSheet(page, cells, `docs/images/pages-${name}.png`);
  await context.close();
}
await browser.close();

function cellOf(title: string, picture: string): string {
  return `<figure><img src="data:image/png;base64,${picture}"><figcaption>${title}</figcaption></figure>`;
}

async function writeSheet(page: Page, cells: readonly string[], path: string): Promise<void> {
  await page.setViewportSize({ width: 1_180, height: 400 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setContent(
    `<style>body{margin:8px;display:grid;grid-template-columns:repeat(6,1fr);gap:8px;font:12px sans-serif;text-align:center}figure{margin:0}img{width:100%;border:1px solid #d1d5db;border-radius:6px}</style>${cells.join('')}`,
  );
  await page.screenshot({ path, fullPage: true });
}
