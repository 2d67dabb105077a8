/** A user that the dev relay plays: opens the link, and does what the plan says. */
import type { DevProvider } from './provider.ts';
import type { DevRelay } from './relay.ts';

/** No sign-in has as many pages. */
const MAX_PAGES = 10;

/** In this process: no network, no certificate. Rejects when a page is none that it knows. */
export async function signInAutomatically(
  link: string,
  relayUrl: string,
  relay: DevRelay,
  provider: DevProvider,
): Promise<void> {
  const peers = { requestIP: () => ({ address: '127.0.0.1' }) };
  let address = link;
  let init: RequestInit = {};
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const isRelay = address.startsWith(`${relayUrl}/`);
    const request = new Request(address, init);
    const response = await (isRelay ? relay.handle(request, peers) : provider.handle(request));
    const location = response.headers.get('location');
    if (location !== null) {
      address = new URL(location, address).href;
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
