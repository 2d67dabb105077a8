/**
 * Settings of any content, and text of others on a terminal: an operator reads what is wrong as
 * text, whatever it was, and settings that are accepted make a relay that answers.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createStory } from '../../src/cli/dev/story.ts';
import { layOut } from '../../src/cli/login/screen.ts';
import { log, startLog } from '../../src/log.ts';
import { createDisabledService } from '../../src/service.ts';
import { describeFaults } from '../../src/settings/index.ts';
import { RELAY_SETTINGS } from '../../src/settings/names.ts';
import { testSeed } from '../kit/random.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { read } from '../settings/read.ts';
import { countOf, createInput, isHarmful } from './input.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

const EXAMPLES: readonly (readonly [name: string, value: string])[] = [
  ...Object.entries(RELAY_SETTINGS).map(([name, { example }]) => [name, example] as const),
  ['PROVIDERS', 'mal,acme'],
  ['MAL_CLIENT_ID', 'id'],
  ['ACME_CLIENT_ID', 'id'],
  ['ACME_CLIENT_SECRET', 'secret'],
  ['ACME_CLIENT_SECRET_FILE', '/file'],
  ['ACME_AUTHORIZE_URL', 'https://acme.test/authorize'],
  ['ACME_TOKEN_URL', 'https://acme.test/token'],
  ['ACME_AUTHORIZE_PARAMS', 'a=b&c=d'],
  ['ACME_DISPLAY_NAME', 'Acme'],
  ['ACME_ISSUER', 'https://acme.test'],
  ['ACME_PKCE', 'S256'],
];

test('settings: each problem is a line of text, and what is accepted answers', async () => {
  const { pick, chance, mutate, hostile, below } = createInput(testSeed);
  captureLog('error');
  let accepted = 0;
  const count = countOf(3_000);
  for (let left = count; left > 0; left -= 1) {
    const value = (good: string) => (chance(0.6) ? good : chance(0.7) ? mutate(good) : hostile());
    const chosen = [
      ['OAUTH_BASE_URL', 'https://relay.test'] as const,
      ['MAL_CLIENT_ID', 'id'] as const,
      ...Array.from({ length: below(4) }, () => pick(EXAMPLES)),
    ];
    const env = Object.fromEntries(chosen.map(([name, good]) => [name, value(good)]));
    const reading = read(env, { '/file': value('content') });
    const fail = (what: string) => {
      throw new Error(`${what}: ${JSON.stringify(env)}`);
    };
    const report = describeFaults(reading.ok ? [] : reading.faults, reading.warnings);
    if (isHarmful(report)) fail('the report acts on a terminal');
    if (!reading.ok) continue;
    accepted += 1;
    const { baseUrl } = reading.settings;
    const service =
      baseUrl === undefined
        ? createDisabledService()
        : createTestService({ ...reading.settings, baseUrl });
    const ask = (path: string, init?: RequestInit) =>
      service.handle(new Request(`https://relay.test${path}`, init), {
        requestIP: () => ({ address: '192.0.2.1' }),
      });
    const body = '{"service":"mal","code":true}';
    const started = await ask('/auth/start', { method: 'POST', body });
    const isPossible = [200, 400, baseUrl === undefined ? 503 : 200].includes(started.status);
    if (!isPossible) fail(`a start got ${started.status}`);
    const page = await ask('/link');
    if (baseUrl !== undefined && page.status !== 200) fail(`the page got ${page.status}`);
    service.close();
  }
  expect(accepted).toBeGreaterThan(count / 10);
  console.log(`${count} environments, ${accepted} accepted`);
});

test('terminal: no text of others acts on it, in the log, in dev and in login', () => {
  const { hostile, chance, mutate } = createInput(testSeed);
  let written = '';
  const write = (text: string) => {
    written = text;
  };
  const story = createStory(write, false);
  const count = countOf(2_000);
  for (let left = count; left > 0; left -= 1) {
    const text = chance(0.5) ? hostile() : mutate('Living room');
    const check = (where: string, shown: string) => {
      if (isHarmful(shown)) throw new Error(`${where} wrote ${JSON.stringify(shown)}`);
    };
    for (const format of ['json', 'text'] as const) {
      startLog({ level: 'debug', format, write });
      log.info('hostile', { text, list: [text] });
      check(`the log as ${format}`, written);
      expect(written.indexOf('\n')).toBe(written.length - 1);
    }
    story.say(text);
    check('dev', written);
    story.takeLog(JSON.stringify({ level: 'debug', event: 'start_member_ignored', member: text }));
    check('dev', written);
    expect(written.indexOf('\n')).toBe(written.length - 1);
    if (left % 20 !== 0) continue;
    const shown = {
      ...{ service: text, link: 'https://relay.test/L/BCDF-GHJK', userCode: 'BCDF-GHJK' },
      ...{ verificationUrl: text, expiresIn: 600, secondsLeft: () => 600 },
    };
    const drawing = layOut(shown, 100, 60).lines.join('\n');
    check('login', drawing.replace(/\p{Cc}\[[\d;]*m/gu, ''));
  }
});
