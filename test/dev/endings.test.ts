/** Every way in which a sign-in can end at the dev relay, over the wire. */
import { describe, expect, mock, spyOn, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { ENDING_NAMES, ENDINGS, type EndingName, planFor } from '../../src/cli/dev/endings.ts';
import { DevRelay } from '../../src/cli/dev/relay.ts';
import { DevSignIns } from '../../src/cli/dev/sign-ins.ts';
import type { Runtime } from '../../src/server/runtime.ts';
import { chooseAtProvider, startDev } from '../kit/dev.ts';
import {
  acknowledge,
  authorizeDevice,
  DEVICE_CODE_GRANT,
  poll,
  pollOnce,
  refresh,
  requestToken,
  start,
  startRequest,
} from '../kit/device.ts';
import { plantIfLong } from '../kit/secrets.ts';
import { callback } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

const dev = await startDev();

const TOKENS = {
  accessToken: expect.any(String),
  refreshToken: expect.any(String),
  expiresIn: 3_600,
};

interface Expected {
  /** What the polls of a device end with. */
  readonly result?: object | 'gone';
  /** What each poll gets. One that is held, if not given. */
  readonly polls?: unknown;
  /** What each refresh with the first refresh token gets at the relay, then one at the provider. */
  readonly refreshes?: readonly [...(readonly number[]), number];
  /** What the start gets. */
  readonly start?: number;
  /** Those that take time take less here, where a request plans them. */
  readonly seconds?: number;
}

const isDown = expect.arrayContaining(['no response']);

const EXPECTED: Record<EndingName, Expected> = {
  approve: { result: TOKENS, refreshes: [200, 200] },
  deny: { result: { error: 'access_denied' } },
  'deny-at-relay': { result: { error: 'access_denied' } },
  'provider-error': { result: { error: 'authorization_failed' } },
  'no-code': { result: { error: 'missing_code' } },
  'exchange-fails': { result: { error: 'exchange_failed' } },
  never: {},
  expires: { result: 'gone', polls: [410], seconds: 2 },
  // Not over when the device polls first, also on a busy machine.
  slow: { result: TOKENS, seconds: 4 },
  'cut-off': { result: TOKENS, polls: ['no response', 200] },
  'refresh-refused': { result: TOKENS, refreshes: [400, 400] },
  'refresh-rotates': { result: TOKENS, refreshes: [200, 400] },
  'refresh-503': { result: TOKENS, refreshes: [503, 503, 200, 200] },
  restart: { result: TOKENS, polls: isDown, seconds: 1 },
  forgotten: { result: 'gone', polls: isDown, seconds: 1 },
  full: { start: 503 },
  'rate-limited': { start: 429 },
};

const startDevice = (asked: object = { ack: true }) => start(dev, 'dev', asked);

/** What each poll of a device gets, and the result. */
async function pollToTheEnd(session: string) {
  const polls: (number | 'no response')[] = [];
  const result = await pollUntil('the sign-in ends', async () => {
    try {
      const response = await poll(dev, session);
      const text = await response.text();
      polls.push(response.status);
      if (response.status === 410) return 'gone';
      return response.status === 200 && (JSON.parse(text) as Record<string, unknown>);
    } catch {
      polls.push('no response');
      return false;
    }
  });
  const { accessToken = '', refreshToken = '' } = Object(result);
  for (const token of [accessToken, refreshToken]) plantIfLong(token);
  return { result, polls, accessToken, refreshToken };
}

async function expectEnding(ending: EndingName, session: string): Promise<void> {
  const { result, polls = [200], refreshes = [] } = EXPECTED[ending];
  if (result === undefined) {
    await dev.untilShown('is redirected to the provider');
    expect((await dev.ask(`/auth/result?session=${session}&wait=1`)).status).toBe(204);
    return;
  }
  if (ending === 'slow') expect((await pollOnce(dev, session)).status).toBe(204);
  const { refreshToken, ...ended } = await pollToTheEnd(session);
  expect(ended).toMatchObject({ result, polls });
  if (result === TOKENS) expect((await acknowledge(dev, session)).status).toBe(204);
  const statuses: number[] = [];
  for (const _ of refreshes.slice(1)) {
    const { status, headers } = await refresh(dev, refreshToken, {}, 'dev');
    expect(headers.get('retry-after')).toBe(status === 503 ? '5' : null);
    statuses.push(status);
  }
  if (refreshes.length > 0) statuses.push((await refreshAtProvider(refreshToken)).status);
  expect(statuses).toEqual([...refreshes]);
}

/** The relay would return the result of the first refresh again. */
const refreshAtProvider = (refreshToken: string) =>
  dev.askProvider('/token', {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: 'sign-in-relay-dev',
    }),
  });

describe('dev: planned by a request, and the link opened by the dev relay', () => {
  test.each(ENDING_NAMES)('%s', async (ending) => {
    const { start: status, seconds } = EXPECTED[ending];
    await dev.plan({ ending, auto: true, seconds });
    if (status !== undefined) {
      const refused = await dev.ask('/auth/start', startRequest('dev'));
      const retryAfter = status === 429 ? '2' : null;
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([status, retryAfter]);
    }
    const { session, answer } = await startDevice();
    expect(answer.expiresIn).toBe(ending === 'expires' ? 2 : 600);
    if (status === undefined) await expectEnding(ending, session);
  });

  test('full: still to come after a start that was refused for another reason', async () => {
    await dev.plan({ ending: 'full' });
    for (const [service, status] of [['no-such-service', 400] as const, ['dev', 503] as const]) {
      expect((await dev.ask('/auth/start', startRequest(service))).status).toBe(status);
    }
  });

  test.each([
    ['full', 'temporarily_unavailable'],
    ['rate-limited', 'slow_down'],
  ])('%s: refuses one start of the device grant too', async (ending, error) => {
    await dev.plan({ ending });
    const body = new URLSearchParams({ client_id: 'x' });
    const start = () => dev.ask('/oauth2/dev/device_authorization', { method: 'POST', body });
    const refused = await start();
    expect([refused.status, await refused.json()]).toMatchObject([400, { error }]);
    await dev.untilShown(`a start got 400 {"error":"${error}"`);
    expect((await start()).status).toBe(200);
  });

  test('cut-off without ack: the tokens are lost', async () => {
    await dev.plan({ ending: 'cut-off', auto: true });
    const { session } = await startDevice({});
    expect(await pollToTheEnd(session)).toMatchObject({
      result: 'gone',
      polls: ['no response', 410],
    });
    await dev.untilShown('a poll got 410: its result was delivered');
  });

  test('tokens name the user until the app signs out', async () => {
    await dev.plan({ ending: 'approve', auto: true });
    const { accessToken, refreshToken } = await pollToTheEnd((await startDevice()).session);
    const headers = { Authorization: `Bearer ${accessToken}` };
    const user = await dev.askProvider('/userinfo', { headers });
    expect(await user.json()).toEqual({ sub: 'Ada', name: 'Ada' });
    const body = JSON.stringify({ service: 'dev', accessToken, refreshToken });
    for (const _ of [1, 2]) {
      expect((await dev.ask('/revoke', { method: 'POST', body })).status).toBe(200);
    }
    await dev.untilShown('the app signed out: its refresh token was revoked');
    expect((await dev.askProvider('/userinfo', { headers })).status).toBe(401);
    const refused = await refresh(dev, refreshToken, {}, 'dev');
    expect(refused.body.error).toBe('invalid_grant');
  });
});

describe("dev: chosen on the provider's page", () => {
  const chosenThere = ENDING_NAMES.filter((name) => !ENDINGS[name].atStart);

  test('the device by its name, and by a button each ending that no start decides', async () => {
    const { url } = await startDevice({ device: 'Demo TV' });
    const authorizeUrl = (await dev.ask(url)).headers.get('location') ?? '';
    const page = await (await dev.askProvider(authorizeUrl)).text();
    expect(page).toContain('<b>Demo TV</b>');
    const buttons = [...page.matchAll(/name="ending" value="([^"]*)"/g)].map(([, value]) => value);
    const others = chosenThere.filter((name) => !['approve', 'deny'].includes(name));
    expect(buttons).toEqual(['', 'deny', ...others]);
  });

  test('expires: 410 to a poll in progress, and the link is unknown', async () => {
    const device = 'chosen to expire';
    const { session, state, url, link } = await startDevice({ code: true, device });
    const polled = poll(dev, session);
    await chooseAtProvider(dev, await dev.ask(url), { ending: 'expires' });
    expect((await polled).status).toBe(410);
    await untilLastLinesAre(device, [
      'the sign-in expired: its polls get 410, so start again',
      'a poll got 410: it has expired',
    ]);
    const page = await dev.ask(url);
    expect([page.status, await page.text()]).toEqual([
      404,
      expect.stringContaining('no longer valid'),
    ]);
    expect((await dev.ask(link)).status).toBe(404);
    expect((await callback(dev, state, 'code=late', 'dev')).status).toBe(404);
  });

  test('any other name signs in with that name', async () => {
    const { session, url } = await startDevice();
    await chooseAtProvider(dev, await dev.ask(url), { name: 'Grace Ж', ending: '' });
    const headers = { Authorization: `Bearer ${(await pollToTheEnd(session)).accessToken}` };
    const user = await dev.askProvider('/userinfo', { headers });
    expect(await user.json()).toEqual({ sub: 'Grace Ж', name: 'Grace Ж' });
  });
});

test('dev: a sign-in by the device grant ends as planned too', async () => {
  await dev.plan({ ending: 'expires', auto: true, seconds: 1 });
  const { deviceCode, expires_in: expiresIn } = await authorizeDevice(dev, {}, 'dev');
  expect(expiresIn).toBe(1);
  const form = { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode };
  await pollUntil('the sign-in expires', async () => {
    const { status, body } = await requestToken(dev, form, {}, 'dev');
    return status === 400 && body.error === 'expired_token';
  });
});

test('dev: two sign-ins that end as restart share one restart, also with a second tap', async () => {
  const [one, two] = [await startDevice(), await startDevice()];
  const urls: string[] = [];
  for (const { url } of [one, two]) urls.push((await dev.ask(url)).headers.get('location') ?? '');
  const form = { method: 'POST', body: new URLSearchParams({ ending: 'restart' }) };
  const shownBefore = dev.output().length;
  const taps = await Promise.all([...urls, ...urls].map((url) => dev.askProvider(url, form)));
  for (const { headers } of taps.slice(0, 2)) await dev.ask(headers.get('location') ?? '');
  for (const { session } of [one, two]) {
    expect((await pollToTheEnd(session)).result).toEqual(TOKENS);
  }
  const shown = dev.output().slice(shownBefore);
  expect(shown.match(/the relay restarts/g)).toHaveLength(1);
  expect(shown).not.toContain('reports a fault');
});

test('dev: planned endings and a restart leave no listener at the store', async () => {
  const listen = mock(() => {});
  const { watch } = DevSignIns.prototype;
  spyOn(DevSignIns.prototype, 'watch').mockImplementation(function (this: DevSignIns, store) {
    return watch.call(this, { ...store, listen });
  });
  const listener = { stop: async () => {}, cut() {} };
  const relay = new DevRelay({
    hostname: '127.0.0.1',
    host: '127.0.0.1',
    port: 8_080,
    services: ['dev'],
    open: false,
    blind: 'never',
    runtime: { listen: async () => listener } as unknown as Runtime,
    askProvider: async () => new Response(),
  });
  for (const ending of ['expires', 'full', 'rate-limited'] as const) {
    relay.signIns.planned.push(planFor(ending));
    await relay.handle(new Request('http://127.0.0.1:8080/auth/start', startRequest('dev')));
  }
  await relay.restart(0, true);
  expect([relay.signIns.planned, listen.mock.calls.length]).toEqual([[], 1]);
  await relay.close();
  mock.restore();
});

describe('dev: /next', () => {
  test('plans in the order in which sign-ins start, shows them, and forgets them', async () => {
    await dev.plan({ ending: 'deny', auto: true });
    await dev.plan({ ending: 'no-code', auto: true });
    const [first, second] = [await startDevice(), await startDevice()];
    await expectEnding('deny', first.session);
    await expectEnding('no-code', second.session);
    await dev.plan({ ending: 'never' });
    const shown = await (await dev.askProvider('/next')).json();
    expect(shown).toEqual({ planned: [{ ending: 'never', seconds: 0, auto: false }] });
    const cleared = await dev.askProvider('/next', { method: 'DELETE' });
    expect(await cleared.json()).toEqual({ planned: [] });
  });

  test.each([
    ['as curl -d sends it', '{"ending":"slow","seconds":3,"auto":true}'],
    ['as a form', 'ending=slow&seconds=3&auto=true'],
  ])('%s, without a content type of its own', async (_, body) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const planned = await dev.askProvider('/next', { method: 'POST', headers, body });
    expect(await planned.json()).toEqual({
      planned: [{ ending: 'slow', seconds: 3, auto: true }],
    });
    await dev.askProvider('/next', { method: 'DELETE' });
  });

  test.each([
    ['{"ending":"denied"}', 'unknown ending'],
    ['{"ending":"deny","atuo":true}', 'unknown member: atuo'],
    ['{"ending":"slow","seconds":"3"}', 'seconds'],
    ['{"ending":"slow","seconds":601}', 'seconds'],
    ['{"ending":"slow","auto":"yes"}', 'auto is'],
    ['auto=yes&ending=deny', 'auto is'],
    ['', 'name an ending'],
    ['{"ending":"deny"', 'name an ending'],
  ])('%p → 400, with what to send, and nothing is planned', async (body, problem) => {
    const refused = await dev.askProvider('/next', { method: 'POST', body });
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as { error: string }).error).toContain(problem);
    expect(await (await dev.askProvider('/next')).json()).toEqual({ planned: [] });
  });
});

/** What is said of the sign-in of a device, without the time and the number. */
function linesOf(device: string): string[] {
  const output = dev.output();
  const number = new RegExp(`#(\\d+) +"${device}"`).exec(output)?.[1];
  const lines = output.split('\n');
  return lines.flatMap((line) => new RegExp(`#${number} +(.*)`).exec(line)?.[1] ?? []);
}

/** A response may arrive before the line that was written before it. */
const untilLastLinesAre = (device: string, expected: readonly string[]) =>
  pollUntil(`the lines of "${device}" end with ${JSON.stringify(expected)}`, () =>
    Bun.deepEquals(linesOf(device).slice(-expected.length), expected),
  );

describe('dev: what it says', () => {
  test('each sign-in in plain words, from the start to the acknowledgement', async () => {
    await dev.plan({ ending: 'approve', auto: true });
    const { session } = await startDevice({ code: true, ack: true, device: 'TV of the words' });
    await expectEnding('approve', session);
    await untilLastLinesAre('TV of the words', [
      '"TV of the words" started a sign-in at dev, with code and ack; it is planned to end as "approve"',
      'the user is redirected to the provider',
      'the relay exchanged the code for tokens',
      'the device received tokens',
      'the device acknowledged what it received',
    ]);
  });

  test('what of a start is ignored, and that its body was cut', async () => {
    await startDevice({ code: 'true', colour: 'red' });
    await dev.untilShown('the start\'s "code" is not a boolean, so the relay ignores it');
    await dev.untilShown('a member "colour" that the relay does not know and ignores');
    const padded = `{"service":"dev"}${' '.repeat(600)}`;
    expect((await dev.ask('/auth/start', { method: 'POST', body: padded })).status).toBe(200);
    await dev.untilShown('the body of the start is longer than 512 bytes');
  });

  test('what a start or a poll is refused for, and what to do', async () => {
    const post = (body: string) => dev.ask('/auth/start', { method: 'POST', body });
    await post('service=dev');
    await dev.untilShown('a start got 400 Invalid JSON: send {"service":"dev"}');
    await post('{"service":"mal"}');
    await dev.untilShown('a start got 400 Unknown service: use dev, or --service');
    await dev.ask('/auth/start');
    await dev.untilShown('a start got 405 Method not allowed: use POST');
    await dev.ask(`/auth/result?session=${'A'.repeat(24)}`);
    await dev.untilShown('a poll got 410 Session not found: no sign-in here has this session');
    await dev.ask(`/auth/result?session=${'A'.repeat(24)}&wait=\u009b2J`);
    await dev.untilShown('a poll got 400 Invalid wait');
    expect(dev.output()).not.toContain('A'.repeat(24));
  });

  test('why a poll or an acknowledgement gets 410', async () => {
    await dev.plan({ ending: 'deny', auto: true });
    const denied = await startDevice({ device: 'denied' });
    await expectEnding('deny', denied.session);
    await pollOnce(dev, denied.session);
    await untilLastLinesAre('denied', ['a poll got 410: its result was delivered']);
    const cancelled = await startDevice({ device: 'cancelled' });
    for (const query of ['&cancel=1', '', '&ack=1']) {
      await dev.ask(`/auth/result?session=${cancelled.session}${query}`);
    }
    await untilLastLinesAre('cancelled', [
      'a poll got 410: its device cancelled it',
      'an acknowledgement got 410: its device cancelled it',
    ]);
  });
});

test('dev: docs/dev.md has every ending, as the table in the source has it', () => {
  const page = readFileSync(new URL('../../docs/dev.md', import.meta.url), 'utf8');
  for (const name of ENDING_NAMES) {
    const { does, device } = ENDINGS[name];
    expect(page).toContain(`| \`${name}\` | ${does} | ${device} |`);
  }
});
