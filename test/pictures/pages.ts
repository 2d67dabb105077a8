/**
 * Takes pictures of every page that a user may see, and writes them to docs/images:
 * npx bun test/pictures/pages.ts
 */
import { writeFileSync } from 'node:fs';
import { decode, encode } from 'fast-png';
import type { Page } from 'playwright-core';
import { launchChromium, showPage } from '../kit/chromium.ts';
import { BRANDED, createPagesFor, renderEveryPage } from '../kit/pages.ts';

const SHADE = 255 / 63;

/** The code in docs/images/tv.png. */
const TV_CODE = 'SVLQ-JRDG';

const PHONE = { width: 390, height: 760 };

/** Which pages, and how they look. */
const SHEETS = {
  light: { scheme: 'light', language: 'en', branding: {} },
  dark: { scheme: 'dark', language: 'en', branding: {} },
  branded: { scheme: 'light', language: 'en', branding: BRANDED },
  arabic: { scheme: 'light', language: 'ar', branding: BRANDED },
} as const;

/** What the README shows. */
const CHOSEN = ['branded home', 'branded confirm', 'branded signed-in', 'dark not-exchanged'];
const chosen = new Map<string, string>();

const browser = await launchChromium();
for (const [name, { scheme, language, branding }] of Object.entries(SHEETS)) {
  const context = await browser.newContext({
    viewport: PHONE,
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const cells: string[] = [];
  for (const [title, html] of Object.entries(renderEveryPage(language, branding))) {
    await showPage(page, html, branding);
    const cell = cellOf(title, (await page.screenshot()).toString('base64'));
    cells.push(cell);
    if (CHOSEN.includes(`${name} ${title}`)) chosen.set(`${name} ${title}`, cell);
  }
  await writeSheet(page, cells, 6, `docs/images/pages-${name}.png`);
  await context.close();
}
const options = { viewport: PHONE, deviceScaleFactor: 2, reducedMotion: 'reduce' } as const;
await drawPhone(await browser.newPage(options));
const shown = CHOSEN.map((name) => (chosen.get(name) ?? '').replace(/<figcaption>.*</, '<'));
await writeSheet(await browser.newPage(), shown, 4, 'docs/images/pages.png');
await browser.close();

/** For the home page of the site, beside docs/images/tv.png: the same app and code. */
async function drawPhone(page: Page): Promise<void> {
  const html = createPagesFor({ appName: 'Demo TV' }).find('en').confirm({
    provider: 'MyAnimeList',
    providerHost: 'myanimelist.net',
    ageMs: 0,
    deviceName: 'Living room',
    userCode: TV_CODE,
  });
  await showPage(page, html, {});
  writeFileSync('docs/images/phone.png', withFewColours(await page.screenshot()));
}

function cellOf(title: string, picture: string): string {
  return `<figure><img src="data:image/png;base64,${picture}"><figcaption>${title}</figcaption></figure>`;
}

async function writeSheet(
  page: Page,
  cells: readonly string[],
  columns: number,
  path: string,
): Promise<void> {
  await page.setViewportSize({ width: 1_080, height: 400 });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setContent(
    `<style>body{margin:8px;display:grid;grid-template-columns:repeat(${columns},1fr);gap:8px;font:12px sans-serif;text-align:center}figure{margin:0}img{width:100%;border:1px solid #d1d5db;border-radius:6px}</style>${cells.join('')}`,
  );
  writeFileSync(path, withFewColours(await page.screenshot({ fullPage: true })));
}

/** Half the size: 64 shades of each colour, and no transparency. */
function withFewColours(png: Uint8Array): Uint8Array {
  const { width, height, channels, data } = decode(png);
  const pixels = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at += 1) {
    for (let part = 0; part < 3; part += 1) {
      pixels[at * 3 + part] = Math.round((data[at * channels + part] ?? 0) / SHADE) * SHADE;
    }
  }
  return encode({ width, height, channels: 3, data: pixels }, { zlib: { level: 9 } });
}
