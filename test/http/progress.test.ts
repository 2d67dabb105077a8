/** `progress=1`: a poll reports once that the user has opened the link (docs/protocol.md §4.5), with settings and faults that the conformance suite cannot choose. */
import { describe, expect, test } from 'bun:test';
import { isPending, runReady } from '../kit/clock.ts';
import { start } from '../kit/device.ts';
import { createTestService, type TestService } from '../kit/service.ts';
import { decide } from '../kit/user.ts';

const OPENED = { progress: 'opened' };

const pollProgress = (service: TestService, session: string, more = '', init?: RequestInit) =>
  service.ask(`/auth/result?session=${session}&progress=1${more}`, init);

const open = (service: TestService, state: string, name = 'mal') =>
  service.ask(`/auth/${name}?state=${state}`);

test('with CONFIRM=always it is reported when the user continues, not before', async () => {
  const service = createTestService({ confirm: 'always' });
  const { session, url } = await start(service);
  const polled = pollProgress(service, session);
  await service.ask(url);
  expect(await isPending(polled)).toBe(true);
  await decide(service, url);
  expect(await (await polled).json()).toEqual(OPENED);
});

describe('a report', () => {
  test('is not used up by a device that has disconnected', async () => {
    const service = createTestService();
    const { session, state } = await start(service);
    const device = new AbortController();
    const left = pollProgress(service, session, '', { signal: device.signal });
    await runReady();
    device.abort();
    expect((await left).status).toBe(204);
    await open(service, state);
    const gone = pollProgress(service, session, '', { signal: AbortSignal.abort() });
    expect((await gone).status).toBe(204);
    expect(await (await pollProgress(service, session)).json()).toEqual(OPENED);
  });
});
