/** The person who has the short link: at the relay's page that asks, then at the provider's. */
import { agree, decline } from '../../browser/support/person.ts';
import { openPhone } from '../../browser/support/phone.ts';
import { comeBack, follow, type RelayPage } from '../../browser/support/relay-page.ts';
import type { Service, Stage } from '../../browser/support/stage.ts';

export type Answer = 'agree' | 'decline' | 'decline at the provider';

/** Resolves with the relay's page on which the way ends. */
export async function openLink(
  { browser }: Stage,
  link: string,
  service: Service,
  answer: Answer,
): Promise<RelayPage> {
  const { page, close } = await openPhone(browser);
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
  try {
    await page.goto(link);
    if (answer === 'decline') return await follow(page, () => press('Decline'));
    await press('Continue');
    const atProvider = answer === 'agree' ? agree : decline;
    return await comeBack(page, () => atProvider(page, service));
  } finally {
    await close();
  }
}
