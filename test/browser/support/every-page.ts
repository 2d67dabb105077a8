/** Every page that the relay has for a person, and the way there. */
import type { Page } from 'playwright-core';
import { CODE_LIMIT_PER_ADDRESS } from '../../../src/limits.ts';
import { startDevice, startDeviceWithCode } from './device.ts';
import { agree, decline } from './person.ts';
import { comeBack, follow, open, type RelayPage } from './relay-page.ts';
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
  home: ({ relay }, page) => open(page, `${relay.baseUrl}/`),
  'code-form': ({ relay }, page) => open(page, `${relay.baseUrl}/link`),
  'code-incomplete': ({ relay }, page) => typeCode(relay.baseUrl, page, 'wdjb mj'),
  'code-unknown': ({ relay }, page) => typeCode(relay.baseUrl, page, UNKNOWN_CODE),
  'too-many-tries': async ({ relay }, page) => {
    const headers = { 'X-Forwarded-For': createAddress() };
    const address = `${relay.baseUrl}/L/${UNKNOWN_CODE}`;
    for (let tries = 0; tries < CODE_LIMIT_PER_ADDRESS.burst; tries += 1) {
      await fetch(address, { headers });
    }
    await page.setExtraHTTPHeaders(headers);
    return open(page, address);
  },
  confirm: async (stage, page) => {
    const { link } = await startDeviceWithCode(stage, 'mal', DEVICE_NAME);
    return open(page, link);
  },
  'confirm-in-app': async (stage, page) => {
    const { link } = await startDeviceWithCode(stage, 'mal', DEVICE_NAME);
    await page.setExtraHTTPHeaders({ 'User-Agent': IN_APP_BROWSER });
    return open(page, link);
  },
  declined: async (stage, page) => {
    const { link } = await startDeviceWithCode(stage, 'mal', DEVICE_NAME);
    await page.goto(link);
    return follow(page, () => page.getByRole('button').last().click());
  },
};

const DEVICE_NAME = 'Television in the living room';

/** Nobody has it, but with odds of one in 25 thousand million. */
const UNKNOWN_CODE = 'BCDF-GHJK';

/** As Instagram's names itself on Android. */
export const IN_APP_BROWSER =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0 Mobile Safari/537.36 Instagram 312.0.0.34.111 Android';

let addresses = 0;

/** One that no test has come from. */
function createAddress(): string {
  addresses += 1;
  return `192.0.2.${addresses}`;
}

async function typeCode(baseUrl: string, page: Page, code: string): Promise<RelayPage> {
  await page.goto(`${baseUrl}/link`);
  await page.getByRole('textbox').fill(code);
  return follow(page, () => page.getByRole('button').click());
}

async function openCallback(stage: Stage, page: Page, query: string): Promise<RelayPage> {
  const { state } = await startDevice(stage, 'mal');
  return open(page, `${stage.relay.baseUrl}/auth/mal/callback?state=${state}&${query}`);
}
