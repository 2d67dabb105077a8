/**
 * The module for programs that embed the relay in their own server: `startService`, which returns the
 * fetch handler, and what creates its arguments. examples/node-server.mjs is a complete program.
 */
export { startLog } from './log.ts';
export type { Service, ServiceDependencies } from './service.ts';
export { describeFaults, readSettings, type Settings } from './settings/index.ts';
export { systemClock } from './sign-ins/time.ts';
export { startService } from './start-service.ts';
