/** What axe-core finds wrong with a page: WCAG 2.2 A and AA, and its own best practices. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

declare global {
  var axe: {
    run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
  };
}

/** The page's own policy allows no script: its context must have been made with `bypassCSP`. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: AXE });
  return page.evaluate(async () => {
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}
