import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** For people to look at, where somebody has named a folder for them. Nothing is compared. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  const folder = process.env.RELAY_TEST_SHOTS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
