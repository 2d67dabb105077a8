/** The load generator's parent: tells it what to do. */
import { join } from 'node:path';
import type { Commands } from '../load/commands.ts';
import type { Reply } from '../load/main.ts';
import { launch } from './processes.ts';

const MAIN = join(import.meta.dir, '../load/main.ts');

type Options<Name extends keyof Commands> = Parameters<Commands[Name]>[0];
type Result<Name extends keyof Commands> = Awaited<ReturnType<Commands[Name]>>;

export interface Generator {
  readonly pid: number;
  call<Name extends keyof Commands>(name: Name, options: Options<Name>): Promise<Result<Name>>;
  stop(): Promise<void>;
}

export function startGenerator(): Generator {
  const waiting = new Map<number, (reply: Reply) => void>();
  const generator = launch([process.execPath, MAIN], {
    // It speaks our own protocol, so what comes is what it was asked for.
    onMessage: (message) => waiting.get((message as Reply).id)?.(message as Reply),
  });
  let calls = 0;

  async function call<Name extends keyof Commands>(
    name: Name,
    options: Options<Name>,
  ): Promise<Result<Name>> {
    calls += 1;
    const id = calls;
    const replied = new Promise<Reply>((resolve) => waiting.set(id, resolve));
    generator.send({ id, name, options });
    const reply = await Promise.race([replied, generator.failed]);
    waiting.delete(id);
    if ('problem' in reply) throw new Error(reply.problem);
    return reply.result as Result<Name>;
  }
  return { pid: generator.pid, call, stop: generator.stop };
}
