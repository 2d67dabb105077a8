/** Errors that nobody caught, or the runtime alone. hazards.md §1b, Crash and Dev error page. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startHeldProvider } from '../support/held-provider.ts';
import { startLocalRelay } from '../support/local-relay.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { plantSecret } from '../support/secrets.ts';
import { untilWaiting } from '../support/until-waiting.ts';
import { poll, startSession } from '../support/wire.ts';

const relays: RelayProcess[] = [];
afterAll(async () => {
  for (const relay of relays) await relay.stop('SIGKILL');
});

/** A relay with a file of test/support loaded before it, which awaits a signal. */
async function start(preload: string, env: Record<string, string> = {}): Promise<RelayProcess> {
  const relay = await startLocalRelay(
    { MAL_CLIENT_ID: 'mal-client', ...env },
    { preload: join(import.meta.dir, '../support', preload) },
  );
  relays.push(relay);
  return relay;
}

describe('an error that nobody caught', () => {
  test.each(['SIGUSR1', 'SIGUSR2'] as const)(
    '%s: it is logged without its message, polls are answered, the exit code tells',
    async (signal) => {
      const relay = await start('stray-error.ts');
      const { session } = await startSession(relay.baseUrl, 'mal');
      const parked = poll(relay.baseUrl, session);
      await untilWaiting(relay, 1);
      process.kill(relay.pid, signal);
      expect((await parked).status).toBe(204);
      expect(await relay.exited).toBe(1);
      expect(relay.events().find(({ event }) => event === 'stray_error')).toMatchObject({
        level: 'error',
        error: 'TypeError',
      });
      expect(JSON.stringify(relay.events())).not.toContain('stray-secret');
    },
  );

  test('one that arises while draining is logged, cuts nothing short, and the exit code tells', async () => {
    const provider = await startHeldProvider();
    const relay = await start('stray-error.ts', { MAL_TOKEN_URL: provider.tokenUrl });
    const { session, state } = await startSession(relay.baseUrl, 'mal');
    const page = fetch(
      `${relay.baseUrl}/auth/mal/callback?state=${state}&code=${plantSecret('stray-authorization-code')}`,
    );
    await provider.asked;
    process.kill(relay.pid, 'SIGTERM');
    await relay.waitForEvent(({ event }) => event === 'draining');
    process.kill(relay.pid, 'SIGUSR1');
    await relay.waitForEvent(({ event }) => event === 'stray_error');
    const polled = poll(relay.baseUrl, session);
    await untilWaiting(relay, 1);
    provider.grant({ access_token: plantSecret('stray-access-token') });
    expect((await page).status).toBe(200);
    expect(await (await polled).json()).toEqual({ accessToken: 'stray-access-token' });
    expect(await relay.exited).toBe(1);
    provider.stop();
  });
});

test('an error inside a handler shows no error page, and the process lives on', async () => {
  const relay = await start('broken-clock.ts');
  process.kill(relay.pid, 'SIGUSR2');
  const response = await fetch(`${relay.baseUrl}/auth/start`, {
    method: 'POST',
    body: '{"service":"mal"}',
  });
  expect([response.status, await response.text()]).toEqual([503, 'Server busy\n']);
  expect((await fetch(`${relay.baseUrl}/health`)).status).toBe(200);
  await relay.waitForEvent(({ event, level }) => event === 'request_fault' && level === 'error');
});

test('an error that only the runtime sees is answered and logged as any other', async () => {
  const relay = await start('broken-handler.ts');
  process.kill(relay.pid, 'SIGUSR2');
  const response = await untilBroken(relay);
  expect([response.status, await response.text()]).toEqual([503, 'Server busy\n']);
  expect(response.headers.get('cache-control')).toContain('no-store');
  await relay.waitForEvent(
    ({ event, error }) => event === 'request_fault' && error === 'TypeError',
  );
});

test("the runtime's own answer, when even that fails, shows nothing of the error", async () => {
  const relay = await start('broken-response.ts');
  process.kill(relay.pid, 'SIGUSR2');
  const response = await untilBroken(relay);
  const body = await response.text();
  expect(response.status).toBe(500);
  expect(body).not.toMatch(/a message of its own|TypeError|\.ts/);
});

/** The first answer that is not as usual: a signal takes its time. */
async function untilBroken({ baseUrl }: RelayProcess): Promise<Response> {
  for (;;) {
    const response = await fetch(`${baseUrl}/health`);
    if (response.status !== 200) return response;
  }
}
