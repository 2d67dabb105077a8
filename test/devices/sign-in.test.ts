/**
 * The programs of examples/devices against a relay as its operator starts it, with a
 * proxy between that fails. A user acts at the relay's pages; the provider is a mock.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { hash, randomUUID } from 'node:crypto';
import { poll, pollOnce } from '../kit/device.ts';
import type { Fate } from '../kit/fault-proxy.ts';
import { newFolder } from '../kit/folder.ts';
import { has, isHere } from '../kit/needs.ts';
import { serveUpstream } from '../kit/provider.ts';
import { scanTerminal } from '../kit/qr.ts';
import { IS_SOAK } from '../kit/random.ts';
import { startRelay } from '../kit/relay.ts';
import { plantSecret } from '../kit/secrets.ts';
import { type Offered, startUntrustedRelay } from '../kit/untrusted-relay.ts';
import { bringCode, continueWithCode, decide, makeCode } from '../kit/user.ts';
import { createGate, pollUntil } from '../kit/wait.ts';
import { type App, installProgram, type Run, type Tokens } from './support/app.ts';
import { answer, RELAYED, startBlindRelay } from './support/blind.ts';
import { PLATFORMS, type Platform, SHELL_PROGRAM } from './support/platforms.ts';
import { type DeviceProxy, startProxy } from './support/proxy.ts';

/** The compilers of Go and Kotlin come first, beside other tests. */
setDefaultTimeout(300_000);

/** Rounds with a network that cuts at random, in `npm run soak`. TEST_SEED replays them. */
const ROUNDS = 50;

/** What the provider answers for a code or a refresh token that the test made. */
const granted = new Map<string, object>();

/** Hold the provider's responses, by refresh token. */
const gates = new Map<string, ReturnType<typeof createGate>>();

const FORM = 'application/x-www-form-urlencoded';
const provider = serveUpstream(async ({ headers }, body) => {
  if (!headers.get('content-type')?.startsWith(FORM)) return new Response(null, { status: 415 });
  const form = new URLSearchParams(body);
  const asked = form.get('code') ?? form.get('refresh_token') ?? '';
  await gates.get(asked)?.pass();
  const tokens = granted.get(asked);
  if (tokens !== undefined) return Response.json(tokens);
  return Response.json({ error: 'invalid_grant' }, { status: 400 });
});

const SETTINGS = {
  MAL_TOKEN_URL: provider.url,
  START_BURST: '1000',
  TRUSTED_PROXY_CIDRS: '127.0.0.1/32',
};

const [relay, hasty, hastiest] = await Promise.all([
  startRelay(SETTINGS),
  // Its links expire soon, yet last for a sign-in on a busy machine.
  startRelay({ ...SETTINGS, SESSION_SECONDS: '8' }),
  // Its links expire before anybody opens them.
  startRelay({ ...SETTINGS, SESSION_SECONDS: '3' }),
]);
const built = newFolder();

/** With what a program that takes JSON apart by itself could stumble over. */
const makeToken = (kind: string) => `${plantSecret(`${kind}-${randomUUID()}`)},{a:[1]}`;

/** The provider gives new tokens for this code or refresh token. */
function grantFor(asked: string, { expiresIn = 3_600 } = {}) {
  const tokens = {
    accessToken: makeToken('access'),
    refreshToken: makeToken('refresh'),
    expiresIn,
  };
  granted.set(asked, {
    access_token: tokens.accessToken,
    refresh_token: tokens.refreshToken,
    expires_in: expiresIn,
  });
  return tokens;
}

/** A user who agrees. Returns what the device has to have then. */
async function agree(run: Run, { nth = 1, at = relay, expiresIn = 3_600 } = {}) {
  const code = makeCode();
  const tokens = grantFor(code, { expiresIn });
  const state = await continueWithCode(at, await run.link(nth)).catch(async () =>
    // On a busy machine a link may have expired before it is opened. The device shows another one.
    continueWithCode(at, await run.link(nth + 1)),
  );
  const response = await bringCode(at, state, code);
  expect(response.status).toBe(200);
  return tokens;
}

/** The user has signed in, and the program has ended. */
async function signIn(app: App, url = relay.baseUrl, more: Parameters<typeof agree>[1] = {}) {
  const run = app.run(url);
  const tokens = await agree(run, more);
  await expectTokens(app, run, tokens);
  return tokens;
}

async function startPolling(app: App, proxy: DeviceProxy) {
  const run = app.run(proxy.url);
  const link = await run.link();
  await pollUntil('it polls', () => proxy.session());
  return { run, link };
}

/** A refresh that waits for the provider. */
async function startRefresh(app: App) {
  const { refreshToken } = await signIn(app);
  app.makeDue();
  const gate = createGate();
  gates.set(refreshToken, gate);
  const held = gate.close();
  const run = app.run(relay.baseUrl);
  await held.arrived;
  return { run, held, tokens: grantFor(refreshToken) };
}

const LOST: Fate = { losesRequest: true };
const ENDED_WELL = { exitCode: 0, error: '' };

async function expectTokens(app: App, run: Run, tokens: Tokens): Promise<void> {
  expect(await run.ended).toMatchObject(ENDED_WELL);
  expect(app.tokens()).toMatchObject(tokens);
}

const isRunHere = ({ name, need }: Platform) =>
  need === undefined || has(need, `the program for ${name} signs in on networks that fail`);

/** They mostly wait, so those of all platforms run at the same time. */
describe.concurrent.each(PLATFORMS.filter(isRunHere))('$name', (platform) => {
  const { exchanges = [] } = platform;
  /** The others run in an app, which decides when it ends. */
  const isTerminal = platform.cancelsBy === 'Ctrl-C';
  const compiled = platform.compile?.(built);
  compiled?.catch(() => {});
  async function install() {
    await compiled;
    return installProgram(platform.command(built), platform.cancelsBy);
  }

  test('the user agrees: tokens are saved for this user alone, and acknowledged', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    // Another process is saving.
    if (isTerminal) app.saveElsewhere();
    proxy.fail('ack', 'held');
    const run = app.run(proxy.url);
    const tokens = await agree(run);
    await expectTokens(app, run, tokens);
    // Even if two parts of the app want tokens.
    expect(run.links()).toBe(1);
    expect(app.mode()).toBe(0o600);
    await pollUntil('the tokens are acknowledged', () => proxy.answers('ack').length > 0);
    // 410: the relay had forgotten them, and the user had waited for more than a minute.
    expect(proxy.answers('ack')).toEqual([204]);
    expect((await poll(relay, proxy.session())).status).toBe(410);
  });

  if (exchanges.includes('blind')) {
    const grant = (more: object = {}, kind = 'first') =>
      answer({
        access_token: plantSecret(`access-token-${kind}`),
        refresh_token: plantSecret(`refresh-token-${kind}`),
        expires_in: 3_600,
        ...more,
      });

    /** The user has signed in, and the tokens are due. What the provider answers then. */
    async function startDue(...token: readonly Fate[]) {
      const there = await startBlindRelay({ token: [grant(), ...token] });
      const app = await install();
      expect(await app.run(there.url).ended).toMatchObject(ENDED_WELL);
      app.makeDue();
      return { ...there, app, run: () => app.run(there.url) };
    }

    test.each([
      ['3600', 3_600],
      [3_599.5, 3_599],
      [0.5, undefined],
      [-1, undefined],
      ['soon', undefined],
      [null, undefined],
    ])('a provider that says expires_in: %j', async (expires_in, expiresIn) => {
      using there = await startBlindRelay({ token: [grant({ expires_in })] });
      const app = await install();
      expect(await app.run(there.url).ended).toMatchObject(ENDED_WELL);
      expect(app.tokens()).toMatchObject({ accessToken: 'access-token-first' });
      expect(app.tokens()?.expiresIn).toBe(expiresIn);
    });

    test.each([[null], [''], [7]])(
      'a refresh that gives %j as refresh token: the old one stays',
      async (refresh_token) => {
        using due = await startDue(grant({ refresh_token }, 'second'));
        expect(await due.run().ended).toMatchObject(ENDED_WELL);
        const kept = { accessToken: 'access-token-second', refreshToken: 'refresh-token-first' };
        expect(due.app.tokens()).toMatchObject(kept);
      },
    );

    const nested = { data: { access_token: plantSecret('access-token-nested') } };
    const form = 'access_token=access-token-nested';
    test.each([
      ['500 server_error', 1, answer({ error: 'server_error', ...nested }, 500), ': server_error'],
      ['500 and other JSON', 1, answer({ error: nested }, 500), ''],
      ['400 invalid_grant', 1, answer({ error: 'invalid_grant' }, 400), ': invalid_grant'],
      ['503 and text', 1, answer('Try later.', 503), ': Try later.'],
      ['200 and other JSON', 1, answer(nested), ''],
      ['200 and a form', 1, answer(form), ''],
      ['no response', 2, LOST, ''],
    ])('an exchange that gets %s: the code is sent %d times', async (_, times, fate, detail) => {
      using there = await startBlindRelay({ token: [...Array<Fate>(times).fill(fate), grant()] });
      const run = (await install()).run(there.url);
      expect(await run.ended).toEqual({ exitCode: 1, error: `exchange_failed${detail}` });
      expect(run.output()).not.toContain('access-token-nested');
      expect(there.asked('/token')).toBe(times);
    });

    test('an exchange whose request is lost once is sent again', async () => {
      using there = await startBlindRelay({ token: [LOST, grant()] });
      expect(await (await install()).run(there.url).ended).toEqual(ENDED_WELL);
    });

    // A reader and a microcontroller run one program.
    if (!exchanges.includes('open'))
      test('a refresh that another process was first to: what that saved is used', async () => {
        const newer = { ...RELAYED, refreshToken: plantSecret('refresh-token-of-the-other') };
        const refused = answer({ error: 'invalid_grant' }, 400);
        const late = {
          ...refused,
          onAnswer: () => due.app.replaceTokens(JSON.stringify(newer)),
        };
        using due = await startDue(late);
        expect(await due.run().ended).toMatchObject(ENDED_WELL);
        expect(due.app.tokens()).toEqual(newer);
      });

    test.each([
      ['other JSON', nested],
      ['an error that is not text', { error: nested }],
      ['a form', form],
    ])('a refresh that is answered with 200 and %s: no token is printed', async (_, body) => {
      using due = await startDue(...Array.from({ length: 6 }, () => answer(body)));
      const run = due.run();
      expect(await run.ended).toEqual({ exitCode: 1, error: 'unreachable' });
      expect(run.output()).not.toContain('access-token-nested');
    });

    test.each([
      ['fails at first', [answer('', 503), answer('', 429), LOST], true],
      ['is not there, as in an older relay', [answer({ error: 'not_found' }, 404)], false],
      ['has no services', [answer({ services: [] })], false],
    ] as const)('/services %s', async (_, services, isBlind) => {
      using there = await startBlindRelay({ services, token: [grant()] });
      const app = await install();
      expect(await app.run(there.url).ended).toMatchObject(ENDED_WELL);
      expect(there.asked('/services')).toBe(isBlind ? 4 : 1);
      expect(there.asked('/token')).toBe(isBlind ? 1 : 0);
      if (!isBlind) expect(app.tokens()).toMatchObject(RELAYED);
    });
  }

  /** What tokens are refreshed with: a program keeps no more. */
  const KEPT = ['accessToken', 'refreshToken', 'expiresIn', 'expiresAt'];

  test.each<Offered>(['relayed', ...exchanges])(
    'every option in the answers, %s: only what it needs is kept or obeyed',
    async (offered) => {
      const untrusted = startUntrustedRelay(offered);
      const { authorizationUrl, tokenUrl, clientId } = untrusted.open;
      const own = offered === 'open' ? [authorizationUrl, tokenUrl, clientId] : [];
      const isRelayed = offered === 'relayed';
      const endpoint = isRelayed ? {} : { tokenUrl, clientId };
      const grants = isRelayed ? [] : ['authorization_code, own', 'refresh_token, own'];
      const app = await install();
      for (let nth = 1; nth <= 2; nth += 1) {
        expect(await app.run(untrusted.url, 'mal', ...own).ended).toMatchObject(ENDED_WELL);
        const saved = app.tokens() ?? {};
        expect([...KEPT, ...Object.keys(endpoint)]).toEqual(
          expect.arrayContaining(Object.keys(saved)),
        );
        expect(saved).toMatchObject({
          accessToken: expect.any(String),
          expiresIn: 30,
          ...endpoint,
        });
        expect(saved).not.toMatchObject({ expiresAt: untrusted.extra.expiresAt });
        app.makeDue();
      }
      const forms = untrusted.providerAsked.map(({ body }) => new URLSearchParams(body));
      const asked = forms.map((form) => `${form.get('grant_type')}, ${form.get('client_id')}`);
      expect(asked).toEqual(grants);
      expect(untrusted.asked.some(({ path }) => path === '/refresh')).toBe(isRelayed);
      expect(forms[0]?.get('code') ?? untrusted.code).toBe(untrusted.code);
      const verifier = forms[0]?.get('code_verifier') ?? 'none';
      expect(untrusted.asked.filter(({ body }) => body.includes(verifier))).toEqual([]);
      const challenge = hash('sha256', verifier, 'base64url');
      expect(untrusted.asked.some(({ body }) => body.includes(challenge))).toBe(!isRelayed);
      expect(untrusted.strangerAsked).toEqual([]);
    },
  );

  if (exchanges.includes('open'))
    test('a callback with another state than that of the program is refused', async () => {
      const untrusted = startUntrustedRelay('open', { state: 'of another sign-in' });
      const { authorizationUrl, tokenUrl, clientId } = untrusted.open;
      const app = await install();
      const run = app.run(untrusted.url, 'mal', authorizationUrl, tokenUrl, clientId);
      expect(await run.ended).toMatchObject({
        exitCode: 1,
        error: expect.stringMatching(/^refused: /),
      });
      expect([untrusted.providerAsked, untrusted.strangerAsked]).toEqual([[], []]);
    });

  test('the storage is full: no tokens are acknowledged, but saved once there is room', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    const run = app.run(proxy.url);
    await run.link();
    app.fillStorage();
    const tokens = await agree(run);
    // An app may catch no more than the failures that the program names.
    await pollUntil('it says so', () => /^not_saved/m.test(run.output()));
    // While it tries again there is one for a moment.
    await pollUntil('no half-written file is left', () => app.leftovers().length === 0);
    expect(run.output()).not.toContain('Signed in.');
    const response = await pollOnce(relay, proxy.session());
    expect(await response.json()).toMatchObject(tokens);
    expect(proxy.answers('ack')).toEqual([]);
    app.freeStorage();
    await expectTokens(app, run, tokens);
  });

  test('stopped during a refresh: the new tokens are saved, the old may be used up', async () => {
    const app = await install();
    const { run, held, tokens } = await startRefresh(app);
    run.cancel();
    // Time to act on it, as there is no sign of that.
    await Bun.sleep(1_000);
    held.release();
    await run.ended;
    expect(app.tokens()).toMatchObject(tokens);
  });

  test('the storage is full at a refresh: the new tokens are saved once there is room', async () => {
    const app = await install();
    const { run, held, tokens } = await startRefresh(app);
    app.fillStorage();
    held.release();
    // The terminal's programs wait; an app calls again.
    const said = ['Kodi', 'Android TV', 'Roku'].includes(platform.name) ? 'Goes on.' : 'not_saved';
    await pollUntil('it goes on', () => run.output().includes(said));
    app.freeStorage();
    await expectTokens(app, run, tokens);
    expect(run.links()).toBe(0);
  });

  if (isTerminal)
    test('stopped twice while the relay does not answer: it tries no more to cancel', async () => {
      await using proxy = await startProxy(relay.baseUrl);
      const app = await install();
      const { run } = await startPolling(app, proxy);
      proxy.fail('cancel', ...Array<'held'>(20).fill('held'));
      run.cancel();
      // A shell acts on a signal after the command that it waits for: a poll of 25 s.
      await pollUntil('it cancels', () => proxy.counts.cut > 0, 60_000);
      run.cancel();
      expect((await run.ended).exitCode).not.toBe(0);
      expect(proxy.counts.cut).toBe(1);
    });

  test('a file without an access token, or cut by a power failure: the user signs in', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    app.replaceTokens('{}');
    const { run } = await startPolling(app, proxy);
    run.kill();
    // Nothing that it had started goes on.
    await run.ended;
    app.truncate();
    await signIn(app);
  });

  test('the user declines: access_denied, as the relay names it', async () => {
    const app = await install();
    const run = app.run(relay.baseUrl);
    await decide(relay, await run.link(), 'decline');
    expect(await run.ended).toMatchObject({ exitCode: 1, error: 'access_denied' });
    expect(app.tokens()).toBeUndefined();
  });

  test('a link that expired, perhaps while the device slept, is replaced', async () => {
    await using proxy = await startProxy(hasty.baseUrl);
    const app = await install();
    const { run } = await startPolling(app, proxy);
    const session = proxy.session();
    run.suspend();
    await pollUntil('the link has expired', async () => {
      const response = await pollOnce(hasty, session);
      return response.status === 410;
    });
    proxy.fail('poll', 'lost');
    run.resume();
    const tokens = await agree(run, { nth: 2, at: hasty });
    await expectTokens(app, run, tokens);
  });

  test('no link is opened: three of them, and no more', async () => {
    const app = await install();
    const run = app.run(hastiest.baseUrl);
    expect(await run.ended).toMatchObject({ exitCode: 1, error: 'expired' });
    expect(run.links()).toBe(3);
  });

  test('time is over, but the relay has not ended the link: the program polls on', async () => {
    let polls = 0;
    const link = 'http://relay.example/L/BCDF-GHJK';
    const started = { session: 'a', link, userCode: 'BCDF-GHJK', qr: `${link}.png`, expiresIn: 1 };
    const accessToken = plantSecret(`access-${randomUUID()}`);
    using there = serveUpstream((request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/services') return Response.json({ services: [] });
      if (pathname === '/auth/start') return Response.json(started);
      if (searchParams.has('wait')) polls += 1;
      // Each program pauses for a second after a 204.
      const isSignedIn = polls > 2 && searchParams.has('wait');
      return isSignedIn ? Response.json({ accessToken }) : new Response(null, { status: 204 });
    });
    const app = await install();
    const run = app.run(there.origin);
    await expectTokens(app, run, { accessToken });
    expect(run.links()).toBe(1);
  });

  // Elsewhere the time of day cannot be changed for one program alone.
  if (platform.name === 'shell')
    test('the device sets its clock while the user signs in: the link stays', async () => {
      await using proxy = await startProxy(relay.baseUrl);
      const app = await install();
      proxy.fail('poll', 'html 503', 'html 503', 'html 503');
      const run = app.run(proxy.url);
      await run.link();
      run.setClock();
      await pollUntil('it polls again', () => proxy.session());
      const tokens = await agree(run);
      await expectTokens(app, run, tokens);
      expect(run.links()).toBe(1);
    });

  test('pages of a proxy, 429, lost connections and a result that is cut off end nothing', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    proxy.fail('start', 'json 503', '429', 'html 200', 'other json 200');
    // A transfer of Roku follows each redirect.
    if (platform.name !== 'Roku') proxy.fail('start', 'redirect');
    proxy.fail('poll', 'html 503', 'json 503', 'html 200', 'deep json 200', 'lost', 'cut');
    proxy.fail('ack', 'lost', 'html 503');
    await signIn(app, proxy.url);
    await pollUntil('the tokens are acknowledged', () => proxy.answers('ack').includes(204));
    // The first one was cut off.
    expect(proxy.answers('poll').filter((status) => status === 200)).toEqual([200, 200]);
    expect(proxy.answers('away')).toEqual([]);
  });

  if (IS_SOAK)
    test(
      'responses that are cut at any byte end nothing',
      async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          await using proxy = await startProxy(relay.baseUrl);
          const app = await install();
          proxy.fail('start', 'torn', 'torn');
          proxy.fail('poll', 'torn', 'torn');
          proxy.fail('ack', 'torn');
          await signIn(app, proxy.url);
        }
      },
      ROUNDS * 300_000,
    );

  // It takes 40 s. Kodi has the requests of Python; Roku counts the seconds itself, and passes it too.
  if (IS_SOAK && !['Kodi', 'Roku'].includes(platform.name))
    test('a response with tokens that stops in the middle is given up, and fetched again', async () => {
      await using proxy = await startProxy(relay.baseUrl);
      const app = await install();
      proxy.fail('poll', 'stall');
      await signIn(app, proxy.url);
      expect(proxy.answers('poll').filter((status) => status === 200)).toEqual([200, 200]);
    });

  test('the relay is not there: the error names its address', async () => {
    const { ended } = (await install()).run('http://127.0.0.1:1');
    expect((await ended).error).toStartWith('unreachable: http://127.0.0.1:1');
  });

  test('the relay refuses the start. A negative Retry-After shortens no pause', async () => {
    let busyUntilMs: number | undefined;
    using there = serveUpstream(() => {
      // Six tries without pauses end before that.
      busyUntilMs ??= Date.now() + 3_000;
      if (Date.now() > busyUntilMs) return new Response('Unknown service', { status: 400 });
      return new Response(null, { status: 429, headers: { 'Retry-After': '-100' } });
    });
    const { ended } = (await install()).run(there.origin);
    expect(await ended).toMatchObject({ exitCode: 1, error: 'refused: Unknown service' });
  });

  // A transfer of Roku has no limit but its time.
  if (platform.name !== 'Roku')
    test('a response that never ends is given up, and asked for again', async () => {
      const part = new Uint8Array(65_536).fill(0x20);
      let sent = 0;
      using there = serveUpstream(() => {
        if (sent > 0) return new Response('Unknown service', { status: 400 });
        const pull = (body: ReadableStreamDefaultController) => {
          sent += part.length;
          body.enqueue(part);
        };
        return new Response(new ReadableStream({ pull }));
      });
      const { ended } = (await install()).run(there.origin);
      expect(await ended).toMatchObject({ exitCode: 1, error: 'refused: Unknown service' });
      // More than the network keeps on its way.
      expect(sent).toBeLessThan(64 * 1024 * 1024);
    });

  test('the user cancels at the device: the link is not valid any more', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    proxy.fail('cancel', 'lost');
    const { run, link } = await startPolling(app, proxy);
    if (platform.drawsQr) {
      const code = await pollUntil('the code is drawn', () => {
        const lines = run
          .output()
          .split('\n')
          .filter((line) => /[▀▄█]/.test(line));
        return lines.length > 0 && scanTerminal(lines);
      });
      expect(code.toLowerCase()).toBe(`${relay.baseUrl}${link}`.toLowerCase());
    }
    run.cancel();
    expect(await run.ended).toMatchObject({ exitCode: 130, error: 'cancelled' });
    await pollUntil('the relay gets the cancellation', () => proxy.answers('cancel').includes(204));
    expect((await poll(relay, proxy.session())).status).toBe(410);
    expect((await relay.ask(link)).status).toBe(404);
    expect(app.tokens()).toBeUndefined();
  });

  test('the user cancels while the program pauses: it does not poll again', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    proxy.fail('poll', '429 for a minute');
    const { run } = await startPolling(app, proxy);
    run.cancel();
    expect(await run.ended).toMatchObject({ exitCode: 130, error: 'cancelled' });
    expect(proxy.answers('poll')).toEqual([]);
  });

  if (platform.name === 'Kodi')
    test('Kodi ends while its window shows link and picture: so does the add-on', async () => {
      const app = await install();
      const run = app.run(relay.baseUrl);
      await run.link();
      expect(run.output()).toContain(`Picture ${relay.baseUrl}/qr/`);
      run.quit();
      expect(await run.ended).toMatchObject({ exitCode: 130, error: 'cancelled' });
    });

  test('tokens are refreshed when due, or after the clock was set back', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    const { refreshToken } = await signIn(app, proxy.url);
    const second = app.run(proxy.url);
    expect(await second.ended).toMatchObject(ENDED_WELL);
    expect([second.links(), proxy.answers('refresh')]).toEqual([0, []]);

    // More than they ever had.
    app.leave(86_400);
    const rotated = grantFor(refreshToken);
    proxy.fail('refresh', 'html 503', '429', 'lost');
    expect(await app.run(proxy.url).ended).toMatchObject(ENDED_WELL);
    expect(app.tokens()).toMatchObject(rotated);
    app.makeDue();

    const kept = rotated.refreshToken;
    const last = makeToken('access');
    granted.set(kept, { access_token: last });
    expect(await app.run(proxy.url).ended).toMatchObject(ENDED_WELL);
    expect(app.tokens()).toMatchObject({ accessToken: last, refreshToken: kept });

    // The provider named no expiry: they are valid until it refuses them.
    expect(await app.run(proxy.url).ended).toMatchObject(ENDED_WELL);
    expect(app.tokens()).toMatchObject({ accessToken: last, refreshToken: kept });
    expect(proxy.answers('refresh')).toEqual([200, 200]);
  });

  test('tokens that live for a minute are refreshed in the middle of it, not at each use', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    const { refreshToken } = await signIn(app, proxy.url, { expiresIn: 60 });
    const fresh = grantFor(refreshToken);
    app.leave(59);
    expect(await app.run(proxy.url).ended).toMatchObject(ENDED_WELL);
    expect(proxy.answers('refresh')).toEqual([]);
    app.leave(25);
    expect(await app.run(proxy.url).ended).toMatchObject(ENDED_WELL);
    expect(app.tokens()).toMatchObject(fresh);
  });

  test('only a provider that refuses tokens takes them away, not an unreachable relay', async () => {
    await using proxy = await startProxy(relay.baseUrl);
    const app = await install();
    const tokens = await signIn(app);
    app.makeDue();
    proxy.fail('refresh', 'lost', 'lost', 'lost', 'lost', 'lost');
    // The last try: its text is not shown.
    proxy.fail('refresh', ...Array<'other json 200'>(20).fill('other json 200'));
    expect(await app.run(proxy.url).ended).toEqual({ exitCode: 1, error: 'unreachable' });
    expect(app.tokens()).toMatchObject(tokens);

    await signIn(app);
  });

  // Its OkHttp Authenticator.
  if (platform.name === 'Android TV')
    test('a token that the API rejects is refreshed once, for all requests that it had', async () => {
      await using proxy = await startProxy(relay.baseUrl);
      const app = await install();
      const { refreshToken } = await signIn(app, proxy.url);
      const fresh = grantFor(refreshToken);
      let accepted: string = fresh.accessToken;
      using api = serveUpstream((request) => {
        const isAccepted = request.headers.get('authorization') === `Bearer ${accepted}`;
        return new Response(null, { status: isAccepted ? 200 : 401 });
      });
      const second = app.run(proxy.url, 'mal', api.url);
      expect(await second.ended).toMatchObject(ENDED_WELL);
      expect(second.output()).toContain('The API answered [200, 200, 200]');
      expect(proxy.answers('refresh')).toEqual([200]);
      expect(app.tokens()).toMatchObject({ accessToken: fresh.accessToken });

      // If the new token is rejected too, the app gets the 401.
      accepted = '';
      grantFor(fresh.refreshToken);
      const third = app.run(proxy.url, 'mal', api.url);
      expect(await third.ended).toMatchObject(ENDED_WELL);
      expect(third.output()).toContain('The API answered [401, 401, 401]');
      expect(proxy.answers('refresh')).toEqual([200, 200]);

      // If the provider refuses to refresh them, the user signs in again, although they are not due.
      expect(await app.run(proxy.url, 'mal', api.url).ended).toMatchObject(ENDED_WELL);
      await signIn(app, proxy.url);
    });
});

test.if(isHere('Python'))('Python: a terminal without blocks gets no drawn QR code', async () => {
  const { command } = PLATFORMS[0] as Platform;
  const app = installProgram(['env', 'PYTHONIOENCODING=latin-1', ...command(built)]);
  const run = app.run(relay.baseUrl);
  await expectTokens(app, run, await agree(run));
  expect(run.output()).toContain('QR code: http');
});

const inShell = test.if(isHere('curl and qrencode'));

inShell(
  'shell: a folder for temporary files that takes nothing is not called a network that fails',
  async () => {
    const withoutSpace = `trap '' XFSZ; ulimit -f 0; exec sh "$@"`;
    const app = installProgram(['sh', '-c', withoutSpace, 'sh', SHELL_PROGRAM]);
    expect(await app.run(relay.baseUrl).ended).toEqual({
      exitCode: 1,
      error: expect.stringMatching(/^cannot write to /),
    });
  },
);

inShell.each(['sh', 'bash'])(
  '%s: what a relay sends is not run, not read by curl, and no option',
  async (shell) => {
    const started = { session: 'a', link: '-V', userCode: 'BCDF-GHJK' };
    const number = 'a[$(touch was-run)]';
    const tokens = { accessToken: 'token', expiresIn: number, expiresAt: number };
    const second = '{"session":"output = was-written x"}';
    let path = '';
    using there = serveUpstream(({ url }) => {
      path = new URL(url).pathname;
      if (path === '/auth/result') return Response.json(tokens);
      return new Response(`${JSON.stringify({ ...started, expiresIn: number })}\n${second}`);
    });
    const app = installProgram([shell, SHELL_PROGRAM]);
    const run = app.run(there.origin);
    expect(await run.ended).toMatchObject(ENDED_WELL);
    expect(app.tokens()).toEqual({ accessToken: 'token' });
    expect([app.has('was-run'), app.has('was-written')]).toEqual([false, false]);
    // The link is drawn, although qrencode has an option of that name.
    expect(run.output()).toContain('█');
  },
);
