/** A step of the suite: what it is called, and how many rules it held. */

export interface StepResult {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** What to read when it failed. */
  readonly output: string;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs a command to its end; its output is kept, not shown. */
export async function runCommand(
  command: string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const child = Bun.spawn(command, {
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { exitCode: await child.exited, output: out + errors };
}

/** A command that holds or does not, such as the type check. */
export async function checkStep(name: string, command: string[]): Promise<StepResult> {
  const { exitCode, output } = await runCommand(command);
  const failed = exitCode === 0 ? 0 : 1;
  return { name, passed: 1 - failed, failed, skipped: 0, output };
}

/** A command whose last words are `N passed, N failed`. One that ends otherwise has failed. */
export function countStep(name: string, { exitCode, output }: CommandResult): StepResult {
  const counts = output.match(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)?.at(-1);
  const [passed = 0, failed = 0, skipped = 0] = counts?.match(/\d+/g)?.map(Number) ?? [];
  const endedOtherwise = counts === undefined || (exitCode !== 0 && failed === 0 && skipped === 0);
  const broken = endedOtherwise ? 1 : 0;
  return { name, passed, failed: failed + broken, skipped, output };
}
