/** What a user sees in a browser, and what they do until the sign-in ends. */
import type { Page } from 'playwright-core';
import { type Device, press } from '../kit/chromium.ts';
import { pollUntil } from '../kit/wait.ts';

export type Choice = 'Continue' | 'Decline';

/** What the user sees. `nothing`: a page that arrived in part, or the browser's own page of an error. */
export type Sight = 'form' | 'wrong code' | 'question' | 'provider' | End | 'nothing';
export type End = 'signed in' | 'cancelled' | 'may be signed in';

/** The first that is on a page. */
const SIGHTS: readonly [Sight, RegExp][] = [
  ['question', /Continue\s+Decline/],
  ['provider', /Allow/],
  ['signed in', /You’re signed in/],
  ['cancelled', /Sign-in (was )?cancelled/],
  ['may be signed in', /no longer valid.*your device may be signed in/s],
  ['wrong code', /This code is not valid/],
  ['form', /Code shown on your device/],
];
const ENDS: ReadonlySet<Sight> = new Set<End>(['signed in', 'cancelled', 'may be signed in']);

/** A page of which nothing arrived has no body, however long one waits. */
const BODY_MS = 1_000;

async function see(page: Page): Promise<Sight> {
  const text = await page.locator('body').innerText({ timeout: BODY_MS });
  return SIGHTS.find(([, said]) => said.test(text))?.[0] ?? 'nothing';
}

const BUTTONS: Partial<Record<Sight, string>> = {
  form: 'Check',
  'wrong code': 'Check',
  provider: 'Allow',
};

type Shown = Pick<Device, 'userCode' | 'shortUrl'>;

/** The page is about the code that the device shows, and says to start again there. */
async function saysExpired(page: Page, { userCode }: Shown): Promise<boolean> {
  const written = await page
    .getByRole('textbox')
    .getAttribute('value')
    .catch(() => null);
  return written === userCode;
}

/** What the user does with what they see. Resolves when they see something else. */
async function act(page: Page, device: Shown, sight: Sight, choice: Choice): Promise<void> {
  const { userCode, shortUrl } = device;
  // Back has left the first page: the user scans the code of the device again.
  if (page.url() === 'about:blank') return void (await page.goto(shortUrl));
  if (sight === 'nothing') return void (await page.reload());
  const before = page.url();
  if (BUTTONS[sight] === 'Check') await page.getByRole('textbox').fill(userCode);
  await press(page, BUTTONS[sight] ?? choice);
  await pollUntil('another page', async () => page.url() !== before || (await see(page)) !== sight);
}

/** A page on which nothing can be done is reloaded so often. */
const PATIENCE = 20;

/**
 * From wherever the user is to an end; `isInterrupted` says that they do something else
 * now. While a page is on its way none can be read, so whatever fails is tried again.
 */
export async function goOn(
  page: Page,
  device: Shown,
  choice: Choice,
  isInterrupted = () => false,
): Promise<Sight> {
  const seen: Sight[] = [];
  for (let turn = 0; turn < PATIENCE; turn += 1) {
    const sight = await page
      .waitForLoadState()
      .then(() => see(page))
      .catch(() => 'nothing' as const);
    seen.push(sight);
    if (isInterrupted() || ENDS.has(sight)) return sight;
    if (sight === 'wrong code' && (await saysExpired(page, device))) return sight;
    await act(page, device, sight, choice).catch(() => {});
    if (isInterrupted()) return sight;
  }
  const text = await page.locator('body').innerText({ timeout: BODY_MS }).catch(String);
  throw new Error(`no end: ${seen.join(', ')}, at ${page.url()}: ${text.slice(0, 200)}`);
}
