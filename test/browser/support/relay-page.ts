/** A page of the relay as a person reads it. */
import type { Page, Response } from 'playwright-core';

export interface RelayPage {
  readonly status: number;
  readonly title: string;
  readonly heading: string;
  readonly message: string;
}

/** The pages of `protocol.md` §3 and §4, in what the specification fixes of them. */
export const SIGNED_IN = { status: 200, title: 'Signed in' };
export const CANCELLED = failed(200, 'Sign-in was cancelled.');
export const FAILED = failed(200, 'Sign-in failed. Please try again.');
export const INCOMPLETE = failed(400, 'Sign-in response was incomplete. Please try again.');
export const NOT_EXCHANGED = failed(502, "Couldn't complete sign-in. Please try again.");
/** The message is the relay's own wording. */
export const LINK_INVALID = { status: 404, title: 'Sign-in failed', heading: 'Sign-in failed' };
export const LINK_INVALID_WORDS = /link.*no longer valid.*start again.*app/is;

function failed(status: number, message: string): RelayPage {
  return { status, title: 'Sign-in failed', heading: 'Sign-in failed', message };
}

/** Does what brings the person back from the provider, and reads the page they come to. */
export async function comeBack(page: Page, action: () => Promise<unknown>): Promise<RelayPage> {
  const isCallback = (url: URL) => url.pathname.endsWith('/callback');
  const answered = page.waitForResponse((response) => isCallback(new URL(response.url())));
  const [response] = await Promise.all([answered, action()]);
  await page.waitForURL(isCallback);
  return readRelayPage(page, response);
}

/** Does what sends a form, and reads the page that answers it. */
export async function follow(page: Page, action: () => Promise<unknown>): Promise<RelayPage> {
  const isAnswer = (response: Response) =>
    response.request().isNavigationRequest() && ![302, 303].includes(response.status());
  const [response] = await Promise.all([page.waitForResponse(isAnswer), action()]);
  await response.finished();
  await page.waitForLoadState();
  return readRelayPage(page, response);
}

export async function open(page: Page, address: string): Promise<RelayPage> {
  return readRelayPage(page, await page.goto(address));
}

export async function readRelayPage(page: Page, response: Response | null): Promise<RelayPage> {
  return {
    status: response?.status() ?? 0,
    title: await page.title(),
    heading: (await page.getByRole('heading', { level: 1 }).textContent()) ?? '',
    message: (await page.locator('p, small').first().innerText()).trim(),
  };
}
