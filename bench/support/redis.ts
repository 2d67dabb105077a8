/** A Redis that keeps nothing on disk; undefined where there is none. */
import { findFreePort } from '../../demo/free-port.ts';
import { type Launched, launch } from './processes.ts';
import { PING, untilAnswered } from './until-answered.ts';

export interface Redis extends Launched {
  readonly url: string;
}

export async function startRedis(): Promise<Redis | undefined> {
  if (Bun.which('redis-server') === null) return undefined;
  const port = await findFreePort();
  const options = { port, bind: '127.0.0.1', appendonly: 'no', 'maxmemory-policy': 'noeviction' };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const redis = launch(['redis-server', '--save', '', ...args]);
  await Promise.race([untilAnswered(port, PING), redis.failed]);
  return { ...redis, url: `redis://127.0.0.1:${port}` };
}
