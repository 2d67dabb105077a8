/** What all commands share: reading their options, and ending with a message for the user. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** Ends the process with this message (main.ts): the command line is wrong, or this machine is unfit. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
    /** How the command is used, shown below the message. */
    readonly usage = '',
  ) {
    super(message);
  }
}

/** Like `parseArgs`, but throws a CommandError if something is wrong. */
export function parseOptions<const Config extends ParseArgsConfig>(
  config: Config,
  usage: string,
  exitCode = 1,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : `${error}`, exitCode, usage);
  }
}

/** How the user starts this program. Where npm started it, the command may not be in `PATH`. */
export const PROGRAM = process.env.npm_execpath ? 'npx sign-in-relay' : 'sign-in-relay';
