/** A pipe or a log: plain lines, and few of them. */
import type { WriteStream } from 'node:tty';
import { durationText } from './countdown.ts';
import { TITLE } from './layout.ts';
import type { Screen, WaitingFor } from './screen.ts';

const TICK_MS = 60_000;

export function plainScreen({ url, expiresAtMs }: WaitingFor, stream: WriteStream): Screen {
  const left = () => durationText(expiresAtMs - performance.now());
  stream.write(`${TITLE}. Open this link in a browser on this machine\n`);
  stream.write(`and sign in at the demo provider with any name and any password:\n\n  ${url}\n\n`);
  stream.write(`Waiting: the link ends in ${left()}.\n`);
  const ticks = setInterval(() => stream.write(`Waiting: ${left()} left.\n`), TICK_MS);
  return {
    trouble: (text) => void stream.write(`Trouble: ${text}. Trying again.\n`),
    close: () => clearInterval(ticks),
  };
}
