/** What the demo shows while it waits. */
import type { WriteStream } from 'node:tty';
import { plainScreen } from './plain-screen.ts';
import { terminalScreen } from './terminal-screen.ts';

export interface WaitingFor {
  readonly url: string;
  readonly expiresIn: number;
  /** By `performance.now()`. */
  readonly expiresAtMs: number;
}

export interface Screen {
  /** Something is amiss that may pass. */
  trouble(text: string): void;
  /** Leaves the terminal as it was. */
  close(): void;
}

export function openScreen(waitingFor: WaitingFor, stream: WriteStream): Screen {
  return stream.isTTY ? terminalScreen(waitingFor, stream) : plainScreen(waitingFor, stream);
}
