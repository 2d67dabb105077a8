/** Every way in which a sign-in can end at the dev relay, over the wire. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { SCENARIO_NAMES, SCENARIOS, type ScenarioName } from '../../src/cli/dev/scenarios.ts';
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

setDefaultTimeout(40_000);

const dev = await startDev();
afterAll(() => dev.stop());

type Answer = Readonly<Record<string, unknown>>;

/** What each poll of a device gets, until the sign-in has ended. */
async function pollToTheEnd(session: string) {
  const met: (number | 'no response')[] = [];
  const result = await pollUntil('the sign-in ends', async (): Promise<Answer | 'gone' | false> => {
    try {
      const response = await poll(dev, session);
      const text = await response.text();
      met.push(response.status);
      if (response.status === 410) return 'gone';
      return response.status === 200 && (JSON.parse(text) as Answer);
    } catch {
      met.push('no response');
      return false;
    }
  });
  if (result !== 'gone') {
    for (const name of ['accessToken', 'refreshToken']) plantIfLong(String(result[name] ?? ''));
  }
  return { result, met };
}

const TOKENS = {
  accessToken: expect.any(String),
  refreshToken: expect.any(String),
  expiresIn: 3_600,
};

const startDevice = (asked: object = { ack: true }) => start(dev, 'dev', asked);

/** Signs in, and returns the refresh token. */
async function signIn(session: string): Promise<string> {
  const { result } = await pollToTheEnd(session);
  expect(result).toEqual(TOKENS);
  return String((result as Answer).refreshToken);
}

/** What a device gets when the sign-in ends as planned. */
const DEVICE: Record<ScenarioName, (session: string) => Promise<void>> = {
  async approve(session) {
    const { result } = await pollToTheEnd(session);
    expect(result).toEqual(TOKENS);
    const headers = { Authorization: `Bearer ${(result as Answer).accessToken}` };
    const user = await dev.askProvider('/userinfo', { headers });
    expect(await user.json()).toEqual({ sub: 'Ada', name: 'Ada' });
    const { accessToken, refreshToken } = result as Answer;
    const body = JSON.stringify({ service: 'dev', accessToken, refreshToken });
    for (const _ of [1, 2]) {
      expect((await dev.ask('/revoke', { method: 'POST', body })).status).toBe(200);
    }
    await dev.untilShown('the app signed out: its refresh token was revoked');
    expect((await dev.askProvider('/userinfo', { headers })).status).toBe(401);
    const refused = await refresh(dev, String(refreshToken), {}, 'dev');
    expect(refused.body.error).toBe('invalid_grant');
  },
  deny: (session) => expectError(session, 'access_denied'),
  'deny-at-relay': (session) => expectError(session, 'access_denied'),
  'provider-error': (session) => expectError(session, 'authorization_failed'),
  'no-code': (session) => expectError(session, 'missing_code'),
  'exchange-fails': (session) => expectError(session, 'exchange_failed'),
  async never(session) {
    await dev.untilShown('is redirected to the provider');
    const response = await dev.ask(`/auth/result?session=${session}&wait=1`);
    expect(response.status).toBe(204);
  },
  async expires(session) {
    expect(await pollToTheEnd(session)).toEqual({ result: 'gone', met: [410] });
  },
  async slow(session) {
    expect((await pollOnce(dev, session)).status).toBe(204);
    await signIn(session);
  },
  async 'cut-off'(session) {
    const { result, met } = await pollToTheEnd(session);
    expect(met).toEqual(['no response', 200]);
    expect(result).toEqual(TOKENS);
    expect((await acknowledge(dev, session)).status).toBe(204);
  },
  async 'refresh-refused'(session) {
    const answer = await refresh(dev, await signIn(session), {}, 'dev');
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  },
  async 'refresh-rotates'(session) {
    const first = await signIn(session);
    const answer = await refresh(dev, first, {}, 'dev');
    expect(answer).toMatchObject({ status: 200, body: { access_token: expect.any(String) } });
    const second = String(answer.body.refresh_token);
    expect(second).not.toBe(first);
    // Straight at the provider: the relay would answer with what it kept of the first refresh.
    const form = {
      grant_type: 'refresh_token',
      refresh_token: first,
      client_id: 'sign-in-relay-dev',
    };
    const old = await dev.askProvider('/token', {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    expect([old.status, await old.json()]).toEqual([400, { error: 'invalid_grant' }]);
    expect((await refresh(dev, second, {}, 'dev')).status).toBe(200);
  },
  async 'refresh-503'(session) {
    const token = await signIn(session);
    const statuses = [];
    for (let times = 0; times < 3; times += 1) {
      statuses.push((await refresh(dev, token, {}, 'dev')).status);
    }
    expect(statuses).toEqual([503, 503, 200]);
  },
  async restart(session) {
    const { result, met } = await pollToTheEnd(session);
    expect(met).toContain('no response');
    expect(result).toEqual(TOKENS);
  },
  async forgotten(session) {
    const { result, met } = await pollToTheEnd(session);
    expect(met).toContain('no response');
    expect(result).toBe('gone');
  },
  full: () => Promise.resolve(),
  'rate-limited': () => Promise.resolve(),
};

async function expectError(session: string, error: string): Promise<void> {
  expect((await pollToTheEnd(session)).result).toEqual({ error });
}

/** Those that take time take less here. `slow` is not over when the device polls, also on a busy machine. */
const SECONDS: Partial<Record<ScenarioName, number>> = {
  expires: 2,
  slow: 4,
  restart: 1,
  forgotten: 1,
};

const withoutSession: readonly ScenarioName[] = ['full', 'rate-limited'];

describe('dev: planned by a request, and the link opened by the dev relay', () => {
  for (const scenario of SCENARIO_NAMES.filter((name) => !withoutSession.includes(name))) {
    test(scenario, async () => {
      const seconds = SECONDS[scenario];
      const planned = await dev.plan({ scenario, auto: true, ...(seconds && { seconds }) });
      expect(planned.status).toBe(200);
      const started = await startDevice();
      if (scenario === 'expires') expect(started.answer.expiresIn).toBe(2);
      await DEVICE[scenario](started.session);
    });
  }

  test.each([
    ['full', 503, null],
    ['rate-limited', 429, '2'],
  ])('%s: the start gets a %d, the next one works', async (scenario, status, retryAfter) => {
    await dev.plan({ scenario });
    const refused = await dev.ask('/auth/start', startRequest('dev'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([status, retryAfter]);
    await startDevice();
  });

  test('full: still to come after a start that was refused for another reason', async () => {
    await dev.plan({ scenario: 'full' });
    expect((await dev.ask('/auth/start', startRequest('no-such-service'))).status).toBe(400);
    expect((await dev.ask('/auth/start', startRequest('dev'))).status).toBe(503);
  });

  test('cut-off without ack: the tokens are lost', async () => {
    await dev.plan({ scenario: 'cut-off', auto: true });
    const { session } = await startDevice({});
    const { result, met } = await pollToTheEnd(session);
    expect([result, met]).toEqual(['gone', ['no response', 410]]);
  });
});

describe("dev: chosen on the provider's page", () => {
  const chosenThere = SCENARIO_NAMES.filter((name) => !SCENARIOS[name].atStart);

  test('by a button: every ending that a start does not decide', async () => {
    const { url } = await startDevice();
    const authorizeUrl = (await dev.ask(url)).headers.get('location') ?? '';
    const page = await (await dev.askProvider(authorizeUrl)).text();
    const buttons = [...page.matchAll(/name="ending" value="([^"]*)"/g)].map(([, value]) => value);
    expect(buttons).toEqual([
      '',
      'deny',
      ...chosenThere.filter((name) => !['approve', 'deny'].includes(name)),
    ]);
  });

  // The others take their full time there.
  const quick = chosenThere.filter((name) => SCENARIOS[name].seconds === undefined);
  test.each(quick)('%s: by its button, and by the user name', async (scenario) => {
    const name = scenario === 'approve' ? 'Ada' : scenario;
    for (const form of [
      { name: 'Ada', ending: scenario },
      { name, ending: '' },
    ]) {
      const { session, url } = await startDevice();
      await chooseAtProvider(dev, await dev.ask(url), form);
      await DEVICE[scenario](session);
    }
  });

  test('expires: 410 to the device and an unknown link to the user, although more was promised', async () => {
    const { session, state, url, link, answer } = await startDevice({ code: true });
    expect(answer.expiresIn).toBe(600);
    const polled = poll(dev, session);
    await chooseAtProvider(dev, await dev.ask(url), { name: 'expires', ending: '' });
    expect((await polled).status).toBe(410);
    const page = await dev.ask(url);
    expect(page.status).toBe(404);
    expect(await page.text()).toContain('no longer valid');
    expect((await dev.ask(link)).status).toBe(404);
    expect((await callback(dev, state, 'code=late', 'dev')).status).toBe(404);
  });

  test('any other name signs in with that name', async () => {
    const { session, url } = await startDevice();
    const page = await chooseAtProvider(dev, await dev.ask(url), { name: 'Grace Ж', ending: '' });
    expect(page.status).toBe(200);
    const { result } = await pollToTheEnd(session);
    const headers = { Authorization: `Bearer ${(result as Answer).accessToken}` };
    const user = await dev.askProvider('/userinfo', { headers });
    expect(await user.json()).toEqual({ sub: 'Grace Ж', name: 'Grace Ж' });
  });
});

describe('dev: the device grant', () => {
  test.each([
    ['approve', 200, undefined],
    ['deny', 400, 'access_denied'],
    ['expires', 400, 'expired_token'],
  ] as const)('%s', async (scenario, status, error) => {
    await dev.plan({ scenario, auto: true, seconds: 1 });
    const { deviceCode, expires_in: expiresIn } = await authorizeDevice(dev, {}, 'dev');
    expect(expiresIn).toBe(scenario === 'expires' ? 1 : 600);
    const isPending = new Set(['authorization_pending', 'slow_down']);
    const form = { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode };
    const answer = await pollUntil('the sign-in ends', async () => {
      const response = await requestToken(dev, form, {}, 'dev');
      return !isPending.has(String(response.body.error)) && response;
    });
    expect(answer.status).toBe(status);
    expect(answer.body.error).toBe(error);
  });
});

test.each(['restart', 'forgotten'] as const)(
  'dev: two sign-ins that end as %s at once share one restart, also with a second tap',
  async (scenario) => {
    const planned = { scenario, auto: false, seconds: 1 };
    const urls = [];
    const sessions: string[] = [];
    for (const device of ['one of two', 'two of two']) {
      await dev.plan(planned);
      const { url, session } = await start(dev, 'dev', { device });
      sessions.push(session);
      urls.push((await dev.ask(url)).headers.get('location') ?? '');
    }
    const tap = (url: string) => {
      const form = new URLSearchParams({ name: 'Ada', ending: scenario });
      return dev.askProvider(url, { method: 'POST', body: form });
    };
    const shownBefore = dev.output().length;
    const taps = await Promise.all([...urls, ...urls].map(tap));
    for (const { status } of taps) expect(status).toBe(303);
    const callbacks = taps.slice(0, 2).map(({ headers }) => headers.get('location') ?? '');
    for (const callback of callbacks) await dev.ask(callback);
    for (const session of sessions) {
      const { result } = await pollToTheEnd(session);
      expect(result).toEqual(scenario === 'restart' ? TOKENS : 'gone');
    }
    const shown = dev.output().slice(shownBefore);
    expect(shown.match(/the relay restarts/g)).toHaveLength(1);
    expect(shown).not.toContain('reports a fault');
  },
);

describe('dev: /next', () => {
  test('plans in the order in which sign-ins start, shows them, and forgets them', async () => {
    await dev.plan({ scenario: 'deny', auto: true });
    await dev.plan({ scenario: 'no-code', auto: true });
    const [first, second] = [await startDevice(), await startDevice()];
    await expectError(first.session, 'access_denied');
    await expectError(second.session, 'missing_code');
    await dev.plan({ scenario: 'never' });
    const shown = await (await dev.askProvider('/next')).json();
    expect(shown).toEqual({ planned: [{ scenario: 'never', seconds: 0, auto: false }] });
    const cleared = await dev.askProvider('/next', { method: 'DELETE' });
    expect(await cleared.json()).toEqual({ planned: [] });
  });

  test.each([
    ['as curl -d sends it', '{"scenario":"slow","seconds":3,"auto":true}'],
    ['as a form', 'scenario=slow&seconds=3&auto=true'],
  ])('%s, without a content type of its own', async (_, body) => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const planned = await dev.askProvider('/next', { method: 'POST', headers, body });
    expect(await planned.json()).toEqual({
      planned: [{ scenario: 'slow', seconds: 3, auto: true }],
    });
    await dev.askProvider('/next', { method: 'DELETE' });
  });

  test.each([
    ['{"scenario":"denied"}', 'unknown scenario'],
    ['{"scenario":"slow","seconds":"3"}', 'seconds'],
    ['{"scenario":"slow","seconds":601}', 'seconds'],
    ['{"scenario":"slow","auto":"yes"}', 'auto is'],
    ['auto=yes&scenario=deny', 'auto is'],
    ['', 'name a scenario'],
    ['"deny"', 'name a scenario'],
    ['{"scenario":"deny"', 'name a scenario'],
    ['null', 'name a scenario'],
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
    await dev.plan({ scenario: 'approve', auto: true });
    const { session } = await start(dev, 'dev', {
      code: true,
      ack: true,
      device: 'TV of the words',
    });
    await signIn(session);
    await acknowledge(dev, session);
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

  test('a name that would move the cursor does not', async () => {
    await start(dev, 'dev', { device: 'a\u001b[2Jb' });
    await dev.untilShown('[2Jb" started a sign-in');
    expect(dev.output()).not.toContain('\u001b');
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

  test('that a sign-in expired, and why a poll gets 410', async () => {
    await dev.plan({ scenario: 'expires', seconds: 1 });
    const planned = await start(dev, 'dev', { device: 'planned to expire' });
    const chosen = await start(dev, 'dev', { device: 'chosen to expire' });
    const authorizeUrl = (await dev.ask(chosen.url)).headers.get('location') ?? '';
    await dev.plan({ scenario: 'expires', seconds: 1 });
    await dev.askProvider('/next', { method: 'DELETE' });
    const form = new URLSearchParams({ name: 'expires', ending: '' });
    await dev.askProvider(authorizeUrl, { method: 'POST', body: form });
    await dev.plan({ scenario: 'deny', auto: true });
    const denied = await start(dev, 'dev', { device: 'denied' });
    await expectError(denied.session, 'access_denied');
    await pollOnce(dev, denied.session);
    const cancelled = await start(dev, 'dev', { device: 'cancelled' });
    for (const query of ['&cancel=1', '', '&ack=1']) {
      await dev.ask(`/auth/result?session=${cancelled.session}${query}`);
    }
    const expired = 'the sign-in expired: its polls get 410, so start again';
    for (const [device, { session }] of Object.entries({
      'planned to expire': planned,
      'chosen to expire': chosen,
    })) {
      await untilLastLinesAre(device, [expired]);
      await pollOnce(dev, session);
      await untilLastLinesAre(device, [expired, 'a poll got 410: it has expired']);
    }
    await untilLastLinesAre('denied', ['a poll got 410: its result was delivered']);
    await untilLastLinesAre('cancelled', [
      'a poll got 410: its device cancelled it',
      'an acknowledgement got 410: its device cancelled it',
    ]);
  });
});

test('dev: docs/dev.md has every scenario, as the table in the source has it', () => {
  const page = readFileSync(new URL('../../docs/dev.md', import.meta.url), 'utf8');
  for (const name of SCENARIO_NAMES) {
    const { does, device } = SCENARIOS[name];
    expect(page).toContain(`| \`${name}\` | ${does} | ${device} |`);
  }
});
