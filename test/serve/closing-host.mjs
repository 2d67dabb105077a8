// A host like examples/node-server.mjs that closes the relay and its server, and lets the process end by itself.
import { randomBytes } from 'node:crypto';
import { serve } from '@hono/node-server';
import { readSettings, startLog, startService, systemClock } from '../../dist/sign-in-relay.js';

startLog({ level: 'debug', format: 'json', write: (line) => process.stdout.write(line) });
const { settings } = readSettings(process.env);
// A test that would wait for a minute sets the longest time that a timer may take.
const longestMs = Number(process.env.LONGEST_TIMER_MS ?? Number.POSITIVE_INFINITY);
const clock = {
  ...systemClock,
  setTimer: (delayMs, run) => systemClock.setTimer(Math.min(delayMs, longestMs), run),
};
const dependencies = { clock, randomBytes, fetch };
const service = await startService(settings, dependencies);
const server = serve(
  {
    port: settings.port,
    hostname: settings.host,
    fetch: (request, { incoming }) =>
      service.handle(request, { requestIP: () => ({ address: incoming.socket.remoteAddress }) }),
  },
  ({ port }) => console.log(JSON.stringify({ event: 'listening', port })),
);
process.once('SIGTERM', () => {
  service.close();
  server.close();
});
