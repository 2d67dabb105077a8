/** The load generator, a process of its own: does what its parent tells it, and ends with it. */
import { commands } from './commands.ts';

export interface Call {
  readonly id: number;
  readonly name: keyof typeof commands;
  readonly options: never;
}

export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly problem: string };

process.on('message', (call: Call) => {
  answer(call).then(
    (reply) => process.send?.(reply),
    () => process.exit(1),
  );
});
process.on('disconnect', () => process.exit(0));

async function answer({ id, name, options }: Call): Promise<Reply> {
  try {
    return { id, result: (await commands[name](options)) ?? null };
  } catch (error) {
    return { id, problem: `${name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
