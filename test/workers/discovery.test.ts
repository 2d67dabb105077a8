/** Discovery in an object: before the first request, once, and again after a while where it failed. */
import { expect, test } from 'bun:test';
import { start, startRequest } from '../kit/device.ts';
import { discoveryDocumentOf, serveUpstream } from '../kit/provider.ts';
import { startWorkers } from '../kit/workers.ts';

function serveIssuer(status: number) {
  const {
    origin: issuer,
    requests,
    ...stop
  } = serveUpstream(() => Response.json(discoveryDocumentOf(issuer), { status }));
  const env = { PROVIDERS: 'mal,acme', ACME_CLIENT_ID: 'acme-client', ACME_ISSUER: issuer };
  return { ...stop, env, asked: () => requests.length };
}

test('the first start already finds the provider, and the issuer is asked once', async () => {
  using issuer = serveIssuer(200);
  await using relay = await startWorkers(issuer.env);
  await Promise.all([start(relay, 'acme'), start(relay, 'acme'), start(relay)]);
  expect(issuer.asked()).toBe(1);
});

test('an issuer that fails costs only its provider, and is not asked by each request', async () => {
  using issuer = serveIssuer(500);
  await using relay = await startWorkers(issuer.env);
  await start(relay);
  for (let count = 0; count < 3; count += 1) {
    expect((await relay.ask('/auth/start', startRequest('acme'))).status).not.toBe(200);
  }
  expect(issuer.asked()).toBe(1);
});
