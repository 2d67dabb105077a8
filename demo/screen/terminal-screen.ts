/** A terminal: a screen of its own, on which only the countdown changes. */
import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { barText, clockText } from './countdown.ts';
import { type Layout, layOut, STATUS_COLUMNS } from './layout.ts';
import type { Screen, WaitingFor } from './screen.ts';

/** The alternate screen: whatever stood in the terminal comes back when it is left. */
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const CLEAR = '\x1b[H\x1b[2J';
const TICK_MS = 1_000;
const TROUBLE_SHOWN_MS = 5_000;

export function terminalScreen(waitingFor: WaitingFor, stream: WriteStream): Screen {
  const { url, expiresIn, expiresAtMs } = waitingFor;
  let layout: Layout;
  let trouble: { readonly text: string; readonly untilMs: number } | undefined;

  function draw(): void {
    layout = layOut(url, stream.columns, stream.rows);
    stream.write(CLEAR + layout.lines.join('\r\n'));
    drawStatus();
  }

  function drawStatus(): void {
    const now = performance.now();
    const leftMs = expiresAtMs - now;
    const troubled = trouble && now < trouble.untilMs;
    const words = troubled ? (trouble?.text ?? '') : `Waiting for you  ${clockText(leftMs)}`;
    const bar = barText(leftMs, expiresIn * 1_000, STATUS_COLUMNS);
    const colour = troubled ? 'yellow' : 'green';
    const fitted = words.slice(0, STATUS_COLUMNS).padEnd(STATUS_COLUMNS);
    const { row, column } = layout.status;
    stream.write(at(row, column) + styleText(['bold', colour], fitted));
    stream.write(at(row + 1, column) + styleText(colour, bar));
  }

  const leave = () => void stream.write(LEAVE);
  process.once('exit', leave);
  stream.write(ENTER);
  draw();
  const ticks = setInterval(drawStatus, TICK_MS);
  stream.on('resize', draw);
  return {
    trouble(text) {
      trouble = { text, untilMs: performance.now() + TROUBLE_SHOWN_MS };
      drawStatus();
    },
    close() {
      clearInterval(ticks);
      stream.off('resize', draw);
      process.off('exit', leave);
      leave();
    },
  };
}

function at(row: number, column: number): string {
  return `\x1b[${row};${column}H`;
}
