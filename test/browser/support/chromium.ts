/** The browser of the tests: Debian's Chromium, quiet, with no traffic of its own. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchChromium(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(
      `There is no Chromium at ${EXECUTABLE}, and without one these tests say nothing. ` +
        'Install it (apt-get install chromium), or set CHROMIUM to where it is.',
    );
  }
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS });
}
