import { join } from 'node:path';
import { findFreePort } from '../../demo/free-port.ts';
import { launch } from './processes.ts';
import { HEALTH, untilAnswered } from './until-answered.ts';

const MAIN = join(import.meta.dir, '../floor.ts');

export async function startFloor() {
  const port = await findFreePort();
  const env = { PORT: String(port) };
  const floor = launch([process.execPath, MAIN], { measured: true, env });
  await Promise.race([untilAnswered(port, HEALTH), floor.failed]);
  return { ...floor, port };
}
