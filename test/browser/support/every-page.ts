/** Every page that the relay has for a person, and the way there. */
import type { Page } from 'playwright-core';
import { startDevice } from './device.ts';
import { agree, decline } from './person.ts';
import { comeBack, open, type RelayPage } from './relay-page.ts';
import type { Stage } from './stage.ts';

export type Way = (stage: Stage, page: Page) => Promise<RelayPage>;

/** By the name that its screenshots get. */
export const EVERY_PAGE: Readonly<Record<string, Way>> = {
  'signed-in': async (stage, page) => {
    await page.goto((await startDevice(stage, 'mal')).url);
    return comeBack(page, () => agree(page, 'mal'));
  },
  cancelled: async (stage, page) => {
    await page.goto((await startDevice(stage, 'mal')).url);
    return comeBack(page, () => decline(page, 'mal'));
  },
  failed: (stage, page) => openCallback(stage, page, 'error=server_error'),
  incomplete: (stage, page) => openCallback(stage, page, ''),
  'not-exchanged': (stage, page) => openCallback(stage, page, 'code=a-code-nobody-gave'),
  'link-invalid': ({ relay }, page) => open(page, `${relay.baseUrl}/auth/mal?state=nobody-s`),
  done: ({ relay }, page) => open(page, `${relay.baseUrl}/auth/done`),
};

async function openCallback(stage: Stage, page: Page, query: string): Promise<RelayPage> {
  const { state } = await startDevice(stage, 'mal');
  return open(page, `${stage.relay.baseUrl}/auth/mal/callback?state=${state}&${query}`);
}
