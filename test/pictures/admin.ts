/** `bun test/pictures/admin.ts` draws docs/images/admin.png: the admin page after a made-up hour. */

import { createAdmin } from '../../src/admin/admin.ts';
import { launchChromium } from '../kit/chromium.ts';
import { createRandom } from '../kit/random.ts';
import { SETTINGS } from '../kit/service.ts';

const MINUTE_MS = 60_000;
const END_MS = Date.UTC(2026, 0, 9, 20, 0, 31);

let nowMs = END_MS - 59 * MINUTE_MS;
const clock = { now: () => nowMs, setTimer: () => () => {} };
const admin = createAdmin(SETTINGS, 'Bun 1.4.5', clock, async () => ({
  liveSessions: 214,
  parkedPolls: 187,
  readiness: { status: 'ready' },
}));
const { monitor } = admin;
/** The same picture each time. */
const random = createRandom(7);

function signIn(service: string, isBroken: boolean) {
  monitor.started(service);
  if (random() < 0.1) return end(service, 'started');
  monitor.opened(service);
  if (isBroken || random() < 0.06) return end(service, 'opened');
  monitor.calledBack(service);
  if (random() < 0.05) return monitor.ended(service, 'access_denied');
  const tookMs = 80 + random() * 300;
  monitor.providerResponded(service, 'exchange', 'granted', tookMs);
  monitor.ended(service, 'signed_in');
  monitor.delivered(service, 1 + random() * 4, false);
}

function end(service: string, stage: 'started' | 'opened') {
  monitor.expired(service, stage);
  monitor.ended(service, 'expired');
}

for (; nowMs <= END_MS; nowMs += MINUTE_MS) {
  const isBroken = END_MS - nowMs < 12 * MINUTE_MS;
  for (let count = 12 + random() * 14; count > 0; count -= 1) signIn('mal', false);
  for (let count = 4 + random() * 8; count > 0; count -= 1) signIn('anilist', isBroken);
}
nowMs = END_MS;
monitor.failed({
  event: 'sign_in_expired',
  service: 'anilist',
  signIn: '7c1f-09ab',
  hint: 'the user did not come back from AniList: if it happens every time, the redirect URI registered there is not https://relay.example/auth/anilist/callback, or ANILIST_CLIENT_ID is wrong',
});

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: admin.handle });
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1_060, height: 400 } });
await page.goto(server.url.href);
await page.screenshot({ path: 'docs/images/admin.png', fullPage: true });
await browser.close();
await server.stop(true);
