/** SIGTERM, Ctrl-C and errors that nothing caught (docs/operating.md). */
import { describe, expect, test } from 'bun:test';
import { poll, start } from '../kit/device.ts';
import { SIGNAL_ECHO_MS } from '../kit/limits.ts';
import { has } from '../kit/needs.ts';
import { startSilentIssuer, startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { launchRelay, MAIN, type StartOptions, startRelay } from '../kit/relay.ts';
import { openRaw } from '../kit/sockets.ts';
import { startExchanging } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

/** A relay with a code at the provider, which answers when the test releases it. */
async function startRelayExchanging(options: StartOptions = {}) {
  const provider = startTokenEndpoint();
  const relay = await startRelay({ MAL_TOKEN_URL: provider.tokenUrl }, options);
  return { ...provider, relay, ...(await startExchanging(relay, provider)) };
}

describe.concurrent('SIGTERM', () => {
  test('parked polls get a 204, an exchange is finished, and its device gets tokens', async () => {
    const { relay, session, code, page, release } = await startRelayExchanging();
    const parked = poll(relay, session);
    await relay.untilParked(1);
    const exited = relay.stop('SIGTERM');
    expect((await parked).status).toBe(204);
    const again = poll(relay, session);
    await relay.untilParked(2);
    release();
    expect(await page).toBe(200);
    expect(await (await again).json()).toEqual(tokensFor(code));
    expect(await exited).toBe(0);
    expect(relay.events('stopped')).toHaveLength(1);
  });

  test('a second one ends the process at once, whatever is in progress', async () => {
    const { relay, page } = await startRelayExchanging();
    process.kill(relay.pid, 'SIGTERM');
    await relay.waitForEvent('draining');
    // Later than an echo of the first one: npm makes two signals of one Ctrl-C.
    await Bun.sleep(SIGNAL_ECHO_MS);
    process.kill(relay.pid, 'SIGTERM');
    expect(await relay.exited).not.toBe(0);
    expect(await page).toBe('cut');
  });

  test('while a discovery request is in progress the process exits with 0 too', async () => {
    using issuer = startSilentIssuer();
    const env = { PROVIDERS: 'acme', ACME_CLIENT_ID: 'acme-client', ACME_ISSUER: issuer.issuer };
    const relay = await launchRelay(env);
    await issuer.asked;
    expect(await relay.stop('SIGTERM')).toBe(0);
  });

  test('a request that does not end delays the exit no longer than responses may take', async () => {
    await using relay = await startRelay();
    const connection = openRaw(relay.baseUrl);
    const head = 'POST /auth/start HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\n';
    await connection.send(`${head}{"service":`);
    // Read after what was sent before, so the relay has begun with the start.
    await relay.ask('/health');
    expect(await relay.stop('SIGTERM')).toBe(0);
    // Cut, where its own deadline would have answered it.
    expect(await connection.closed).toBe('');
  });

  test('one Ctrl-C under npm, which arrives as two SIGINT, drains all the same', async () => {
    const { relay, session, page, release } = await startRelayExchanging();
    process.kill(relay.pid, 'SIGINT');
    process.kill(relay.pid, 'SIGINT');
    await relay.waitForEvent('draining');
    release();
    expect(await page).toBe(200);
    expect((await poll(relay, session)).status).toBe(200);
    expect(await relay.exited).toBe(0);
  });
});

const withCommands = test.if(has('POSIX commands', 'a relay under nohup outlives its terminal'));

withCommands('a relay under nohup outlives its terminal, which closes with a SIGHUP', async () => {
  const relay = await startRelay({}, { command: ['nohup', process.execPath, MAIN] });
  process.kill(relay.pid, 'SIGHUP');
  expect((await relay.ask('/health')).status).toBe(200);
  expect(await relay.stop()).toBe(0);
});

describe('an error that nothing caught', () => {
  test.each([
    ['rejection', 'SIGUSR1'],
    ['exception', 'SIGUSR2'],
  ] as const)('as %s: logged without message, polls get 204, exit code 1', async (_, signal) => {
    const relay = await startRelay({}, { fault: 'stray error' });
    const { session } = await start(relay);
    const parked = poll(relay, session);
    await relay.untilParked(1);
    process.kill(relay.pid, signal);
    expect((await parked).status).toBe(204);
    expect(await relay.exited).toBe(1);
    expect(relay.events('unhandled_error')).toMatchObject([{ level: 'error', error: 'TypeError' }]);
    expect(relay.output()).not.toContain('stray-secret');
  });

  test('during a drain is logged and cuts nothing short; the exit code is 1', async () => {
    const { relay, session, code, page, release } = await startRelayExchanging({
      fault: 'stray error',
    });
    process.kill(relay.pid, 'SIGTERM');
    await relay.waitForEvent('draining');
    process.kill(relay.pid, 'SIGUSR1');
    await relay.waitForEvent('unhandled_error');
    const polled = poll(relay, session);
    await relay.untilParked(1);
    release();
    expect(await page).toBe(200);
    expect(await (await polled).json()).toEqual(tokensFor(code));
    expect(await relay.exited).toBe(1);
  });
});

/** An error in a handler: test/http/faults.test.ts. */
test('an error that only the runtime sees is a 503 that shows nothing, and is logged', async () => {
  const relay = await startRelay({}, { fault: 'broken handler' });
  process.kill(relay.pid, 'SIGUSR2');
  // A signal takes its time.
  const response = await pollUntil('a request fails', async () => {
    const answer = await relay.ask('/health');
    return answer.status !== 200 && answer;
  });
  expect([response.status, await response.text()]).toEqual([503, 'Server busy\n']);
  expect(response.headers.get('cache-control')).toContain('no-store');
  await relay.waitForEvent(({ event, level }) => event === 'request_fault' && level === 'error');
  expect(relay.output()).not.toContain('secret-in-a-message');
});
