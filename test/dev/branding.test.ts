/** The pages of a dev relay: those of a relay in production, with the settings of the app whose developer runs it. */
import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CATALOGUE } from '../../src/pages/messages/catalogue.ts';
import { startDev } from '../kit/dev.ts';
import { start } from '../kit/device.ts';
import { newFolder } from '../kit/folder.ts';
import { runChild } from '../kit/process.ts';
import { MAIN } from '../kit/relay.ts';

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>';

test('dev: name, logo, accent, links and the name of the provider are on the pages', async () => {
  const logo = join(newFolder(), 'logo.svg');
  writeFileSync(logo, LOGO);
  await using dev = await startDev({
    env: {
      APP_NAME: 'Acme TV',
      LOGO: logo,
      ACCENT: '#123456,#abcdef',
      PRIVACY_URL: 'https://acme.example/privacy',
      SUPPORT_URL: 'mailto:help@acme.example',
      TERMS_URL: 'https://acme.example/terms',
      DEV_DISPLAY_NAME: 'Acme Music',
    },
  });
  const { answer } = await start(dev, 'dev', { code: true, device: 'Living room' });
  const page = await (await dev.ask(String(answer.link))).text();
  const names = ['Acme TV', 'Acme Music', '#123456', '#abcdef'];
  for (const shown of [...names, '/privacy', '/terms', 'help@acme.example']) {
    expect(page).toContain(shown);
  }
  expect(await (await dev.ask('/logo')).text()).toBe(LOGO);
});

test('dev: a setting of the pages that is wrong → 1, and what would be right', async () => {
  const env = { ACCENT: 'red\u009b2J', LOGO: '/nowhere.png' };
  const ended = await runChild([process.execPath, MAIN, 'dev'], { env });
  expect(ended.exitCode).toBe(1);
  expect(ended.output).toContain('ACCENT');
  expect(ended.output).toContain('LOGO');
  expect(ended.output).not.toContain('\u009b');
});

test('dev: other settings of a relay change nothing', async () => {
  const env = { POLL_SECONDS: 'x', PROVIDERS: 'mal', OAUTH_BASE_URL: 'https://relay.example' };
  await using dev = await startDev({ env });
  expect((await start(dev, 'dev')).url).toStartWith(`${dev.relayUrl}/auth/dev?`);
});

test('dev: without settings no page in another language has a name in English', async () => {
  await using dev = await startDev();
  await dev.plan({ ending: 'deny-at-relay' });
  const { url: confirmation } = await start(dev, 'dev');
  const { answer } = await start(dev, 'dev', { code: true });
  const paths = [confirmation, String(answer.link), '/', '/link', '/auth/dev?state=unknown'];
  for (const language of Object.keys(CATALOGUE).filter((each) => each !== 'en')) {
    for (const path of paths) {
      const page = await (await dev.ask(path, { headers: { 'Accept-Language': language } })).text();
      expect([path, page]).toEqual([path, expect.stringContaining(`lang="${language}"`)]);
      const english = /your app|dev provider|the dev/i.exec(page)?.[0];
      expect([path, language, english]).toEqual([path, language, undefined]);
    }
  }
});
