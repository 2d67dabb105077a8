/** The settings of a Worker: the same names, and a sentence for each that has no meaning there. */
import { expect, test } from 'bun:test';
import { namesOf, RELAY_SETTINGS } from '../../src/settings/names.ts';
import { readWorkerSettings } from '../../src/workers/settings.ts';
import { startRequest } from '../kit/device.ts';
import { runRelay } from '../kit/relay.ts';
import { readWranglerConfig, startWorkers } from '../kit/workers.ts';

const GOOD = { OAUTH_BASE_URL: 'https://relay.test', MAL_CLIENT_ID: 'mal-client' };

const problemsOf = (env: object) =>
  readWorkerSettings(env).faults.map(({ setting, problem }) => `${setting} ${problem}`);

test('those of any relay, and bindings are not settings', () => {
  const { settings, faults } = readWorkerSettings({ ...GOOD, RELAY: {}, POLL_SECONDS: '20' });
  expect([settings?.baseUrl, settings?.pollSeconds, faults]).toEqual([
    'https://relay.test',
    20,
    [],
  ]);
});

test.each([
  ['PORT', '8080'],
  ['HOST', '127.0.0.1'],
  ['ADMIN_PORT', '9090'],
  ['ADMIN_TOKEN_FILE', '/run/secret'],
  ...namesOf(RELAY_SETTINGS)
    .filter((name) => name.startsWith('REDIS_'))
    .map((name): [string, string] => [name, 'redis://user:secret@redis.test']),
  ['TRUSTED_PROXY_CIDRS', '10.0.0.0/8'],
  ['ANILIST_CLIENT_SECRET_FILE', '/run/secret'],
])('%s is refused with a sentence that shows no secret', (setting, value) => {
  const { settings, faults } = readWorkerSettings({ ...GOOD, [setting]: value });
  expect(settings).toBeUndefined();
  const [fault] = faults.filter((each) => each.setting === setting);
  expect(fault?.problem).toStartWith('must not be set on Cloudflare Workers: ');
  expect(JSON.stringify(faults)).not.toContain('secret@');
});

test('OBJECTS, which an earlier version had, is only a warning', () => {
  const { settings, warnings } = readWorkerSettings({ ...GOOD, OBJECTS: '4' });
  expect(settings).toBeDefined();
  expect(warnings.map(({ setting }) => setting)).toContain('OBJECTS');
});

test('an empty variable is not set', () => {
  expect(problemsOf({ ...GOOD, PORT: ' ' })).toEqual([]);
});

test('a logo is a data: URI, since there are no files', () => {
  const [problem = ''] = problemsOf({ ...GOOD, LOGO: './logo.svg' });
  expect(problem).toBe(
    'LOGO must name a file that can be read: it cannot be read (a Worker has none)',
  );
});

test('with a wrong setting sign-ins get a 503; /ready, check and the log say why', async () => {
  const OAUTH_BASE_URL = 'https://relay.test/tv';
  await using relay = await startWorkers({ OAUTH_BASE_URL, PORT: '8080', SESSION_SECONDS: 'long' });
  const refused = await relay.ask('/tv/auth/start', startRequest());
  expect([refused.status, await refused.text()]).toEqual([503, 'OAuth proxy not configured\n']);
  const reason = 'not configured: 2 settings are wrong, and the log says which';
  // Those of its start.
  const { length: logged } = await relay.waitForEvents('setting', 2);
  const ready = await relay.ask('/tv/ready');
  expect([ready.status, await ready.text()]).toEqual([503, reason]);
  const wrong = (await relay.waitForEvents('setting', logged + 2)).slice(logged);
  expect(wrong.every(({ level }) => level === 'error')).toBe(true);
  expect(wrong.map(({ setting }) => setting).toSorted()).toEqual(['PORT', 'SESSION_SECONDS']);
  const { output } = await runRelay({}, { args: ['check', '--relay', `${relay.baseUrl}/tv`] });
  expect(output).toContain(`✗ ready: it is not: ${reason}\n`);
});

test('Cloudflare keeps the log of a deployed relay, and no URL with its query', () => {
  expect(readWranglerConfig().observability).toEqual({
    enabled: true,
    redact_query_string: true,
    logs: { invocation_logs: false },
    traces: { enabled: false },
  });
});
