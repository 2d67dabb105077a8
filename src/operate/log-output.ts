/**
 * Where log lines go. A log that cannot be written, because its reader has left
 * or its disk is full, ends nobody's sign-in: the relay goes on without it.
 */
import type { Writable } from 'node:stream';
import { LOG_BACKLOG_BYTES } from '../limits.ts';
import { log } from './log.ts';

/**
 * Returns how to write a line to `output`. The first failure is told on
 * `errors`; lines are tried again each time, and once one is written the log
 * says how many are missing. Both need a listener for their errors.
 */
export function createLogOutput(output: Writable, errors: Writable): (line: string) => void {
  let waitingBytes = 0;
  let lostLines = 0;
  let isFailing = false;

  function fail(reason: string): void {
    if (!isFailing) errors.write(`The log cannot be written (${reason}); the relay goes on.\n`);
    isFailing = true;
  }

  function recover(): void {
    isFailing = false;
    if (lostLines === 0) return;
    const lines = lostLines;
    lostLines = 0;
    log.warning('log_incomplete', { lostLines: lines });
  }

  return (line) => {
    // A reader that stands still: what it does not take would fill the memory.
    if (waitingBytes > LOG_BACKLOG_BYTES) {
      lostLines += 1;
      return fail('nobody reads it');
    }
    waitingBytes += line.length;
    output.write(line, (error) => {
      waitingBytes -= line.length;
      if (error) {
        lostLines += 1;
        fail('code' in error ? String(error.code) : error.name);
      } else if (isFailing && waitingBytes === 0) {
        recover();
      }
    });
  };
}
