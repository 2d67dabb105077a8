#!/usr/bin/env bun
/** The command line of the demo: sets the stage, lets a sign-in happen on it, and clears it away. */
import { parseArgs } from 'node:util';
import { signInAlone } from './auto/alone.ts';
import { reportArrival } from './report.ts';
import { setStage } from './stage.ts';
import { signInWithPerson } from './with-person.ts';
import { describeFailure } from './words.ts';

const USAGE = `A whole sign-in on this machine: a device in this terminal, the relay, and a
real OpenID provider. You are the person who signs in, with any browser here.

Usage: npm run demo                 shows a link and a code, and waits for you
       npm run demo -- --auto       signs in by itself: no browser, no terminal
       npm run demo -- --help       this text

Ends with 0 when the tokens arrived and the provider takes them, otherwise with
1 and the reason.
`;

async function main(): Promise<void> {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const ending = new AbortController();
  endOnSignal(ending);
  try {
    process.stdout.write(reportArrival(await play(options.auto ?? false, ending)));
  } catch (error) {
    process.stderr.write(`\n  ${describeFailure(error)}\n\n`);
    process.exitCode = error instanceof Interruption ? 130 : 1;
  }
}

async function play(auto: boolean, ending: AbortController) {
  const stage = await setStage();
  stage.failure.catch((error: unknown) => ending.abort(error));
  const signIn = auto ? signInAlone : signInWithPerson;
  try {
    return await signIn(stage, ending.signal);
  } finally {
    await stage.stop();
  }
}

class Interruption extends Error {
  override readonly message = 'Stopped. Nothing was kept.';
}

/** One Ctrl-C may arrive twice, from the terminal and from npm; one pressed later is meant. */
const ECHO_MS = 500;

/** The first signal ends in order, another at once. */
function endOnSignal(ending: AbortController): void {
  let firstAtMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > ECHO_MS) process.exit(130);
      ending.abort(new Interruption());
    });
  }
}

function readOptions() {
  const options = { auto: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(1);
  }
}

await main();
