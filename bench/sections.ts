/** What can be measured, in its order. */
import type { Section } from './bench.ts';
import { measureCost } from './sections/cost.ts';
import { measureFlood } from './sections/flood.ts';
import { measureLiveSessions } from './sections/live-sessions.ts';
import { measureMemory } from './sections/memory.ts';
import { measureObjects } from './sections/objects.ts';
import { measureParking } from './sections/parking.ts';
import { measureRoutes } from './sections/routes.ts';
import { measureStartUp } from './sections/start-up.ts';
import { measureTls } from './sections/tls.ts';
import { measureWakeUp } from './sections/wake-up.ts';

export const SECTIONS: Readonly<Record<string, Section>> = {
  cost: measureCost,
  objects: measureObjects,
  'wake-up': measureWakeUp,
  'live-sessions': measureLiveSessions,
  tls: measureTls,
  flood: measureFlood,
  routes: measureRoutes,
  memory: measureMemory,
  parking: measureParking,
  'start-up': measureStartUp,
};
