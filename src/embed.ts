/**
 * For programs that mount the relay in a server of their own: the fetch handler
 * behind `startService`, and what makes its settings and its world.
 * examples/node-server.mjs is a whole host.
 */
export { startLog } from './log.ts';
export { systemClock } from './relay/time.ts';
export { type Service, startService, type World } from './service.ts';
export { describeFaults, readSettings, type Settings } from './settings/index.ts';
