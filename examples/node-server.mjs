// The relay under plain Node, mounted as a fetch handler. Run `npm run build` first, which makes dist/.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { describeFaults, readSettings, startService, systemClock } from '../dist/sign-in-relay.js';

const read = readSettings(process.env, readFileSync);
if (!read.ok) throw new Error(describeFaults(read.faults, read.warnings));
const { settings } = read;

const dependencies = { clock: systemClock, randomBytes, fetch };
const service = await startService(settings, dependencies);
process.once('SIGTERM', async () => {
  await service.drain();
  service.close();
  // The process ends by itself once the last response is sent.
  server.close();
});

const server = serve({
  port: settings.port,
  hostname: settings.host,
  fetch: (request, { incoming }) =>
    service.handle(request, { requestIP: () => ({ address: incoming.socket.remoteAddress }) }),
});
