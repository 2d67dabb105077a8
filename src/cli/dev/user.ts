/** A simulated user, for `auto`: opens the link, and declines if the plan says so. */
import type { DevProvider } from './provider.ts';
import { type DevRelay, LOCAL_PEERS } from './relay.ts';

/** More than any sign-in has. */
const MAX_PAGES = 10;

/** Calls relay and provider in this process, so it needs no network. */
export async function signInAutomatically(
  link: string,
  relayUrl: string,
  relay: DevRelay,
  provider: DevProvider,
): Promise<void> {
  let url = link;
  let init: RequestInit = {};
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const isRelay = url.startsWith(`${relayUrl}/`);
    const request = new Request(url, init);
    const response = await (isRelay
      ? relay.handle(request, LOCAL_PEERS)
      : provider.handle(request));
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      init = {};
      continue;
    }
    const text = await response.text();
    // The confirmation page, which only "deny-at-relay" gets here.
    if (!isRelay || !text.includes('name="choice"')) return;
    init = {
      method: 'POST',
      headers: { 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams({ choice: 'decline' }),
    };
  }
}
