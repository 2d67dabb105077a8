/** A phone: a browser of its own, with its own cookies, that notes what the browser complains of. */
import type { Browser, Page } from 'playwright-core';

export interface Phone {
  readonly page: Page;
  /** What a page was refused by its policy, or did wrong. Provider pages count too; ours are tested. */
  readonly complaints: readonly string[];
  close(): Promise<void>;
}

export type PhoneOptions = Parameters<Browser['newContext']>[0];

const SCREEN = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };

export async function openPhone(browser: Browser, options: PhoneOptions = {}): Promise<Phone> {
  const context = await browser.newContext({ ...SCREEN, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}
