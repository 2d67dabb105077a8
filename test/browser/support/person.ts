/** What a person does at a provider, on whichever page they are. */
import type { Page } from 'playwright-core';
import { OWNER } from '../../support/providers/plain-pkce.ts';
import type { Service } from './stage.ts';

/** Who signs in at each. */
export const NAMES: Readonly<Record<Service, string>> = { demo: 'Ada', bare: 'Béla', mal: OWNER };

/** Agrees, as somebody new or as somebody the provider knows already. Does not wait for where it leads. */
export async function agree(
  page: Page,
  service: Service,
  name: string = NAMES[service],
): Promise<void> {
  if (service === 'mal') return press(page, 'Allow');
  const field = page.getByLabel('Name');
  if ((await field.count()) === 0) return press(page, 'Continue');
  await field.fill(name);
  await page.getByLabel('Password').fill('any');
  await press(page, 'Sign in');
}

export function decline(page: Page, service: Service): Promise<void> {
  return press(page, service === 'mal' ? 'Deny' : 'Cancel');
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click({ noWaitAfter: true });
}
