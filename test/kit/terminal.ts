/** A program in a pseudo-terminal, and what its screen shows. */
import { untilShown } from './wait.ts';

interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Ends with the test. */
export function startInTerminal(
  command: readonly string[],
  { columns = 80, rows = 24, env = {} }: TerminalOptions = {},
) {
  let output = '';
  const decoder = new TextDecoder();
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', NO_PROXY: '127.0.0.1', ...env },
    terminal: {
      cols: columns,
      rows,
      data(_terminal, part) {
        output += decoder.decode(part, { stream: true });
      },
      exit: () => closed.resolve(),
    },
  });
  const program = { output: () => output, isRunning: () => child.exitCode === null };
  return {
    /** Everything that was written to the terminal, escape sequences and all. */
    output: program.output,
    untilShown: (text: string | RegExp) => untilShown(program, text),
    type: (keys: string) => void child.terminal?.write(keys),
    pid: child.pid,
    /** Resolves with the exit code once all output was read too. */
    exited: closed.promise.then(() => child.exited),
  };
}

/** Ctrl-C, as a keyboard sends it. The terminal makes a SIGINT of it. */
export const CTRL_C = '\x03';
