/** What `login` shows while it waits: a QR code, the link, a code and a countdown in a terminal, plain lines elsewhere. */
import type { Prompt } from '../../../client/src/index.ts';
import { clockText, printable, renderQr, styleFor } from '../terminal.ts';

export interface Screen {
  /** Reports a problem that a retry may solve. */
  trouble(text: string): void;
  /** The user has opened the link. May be called again, as after a trouble. */
  opened(): void;
  close(): void;
}

export interface Shown extends Omit<Prompt, 'qr'> {
  readonly service: string;
}

/** stdout is for tokens. */
const stream = process.stderr;

/**
 * A terminal that cannot move its cursor (TERM=dumb, as in Emacs), or whose size nobody has set
 * (0 by 0, as of a serial console), gets plain lines.
 */
const canDraw = stream.isTTY && stream.columns > 0 && process.env.TERM !== 'dumb';
const colour = styleFor(stream);
const style: typeof colour = (format, text) => (canDraw ? colour(format, text) : text);

export function openScreen(shown: Shown): Screen {
  const lines = canDraw ? describeLink(shown, stream.columns, stream.rows) : describeLink(shown);
  stream.write(`${lines.join('\n')}\n`);
  return canDraw ? countDown(shown) : writeLines(shown);
}

const MARGIN = '  ';
/** A smaller margin than the standard's four still scans on a screen, and may be what fits. */
const SMALL_QUIET_ZONE = 2;

/** The largest margin with which the whole code is on the screen, or no code. */
export function describeLink(shown: Shown, columns = 0, rows = 0): string[] {
  const { service, link, userCode, verificationUrl } = shown;
  const byCode = userCode && `Or type ${userCode} at ${printable(verificationUrl ?? '')}`;
  const width = Math.max(columns, 1);
  const rowsOf = (text = '') => Math.ceil((MARGIN.length + text.length) / width);
  // The title may leave the screen. The last row has the countdown.
  const rowsBelow = rowsOf(link) + (byCode ? rowsOf(byCode) : 0) + 1;
  // Capitals before the path need fewer bits, and browsers ignore the case there.
  const scanned = link.replace(/^https?:\/\/[^/]+/i, (origin) => origin.toUpperCase());
  const code = [renderQr(scanned), renderQr(scanned, SMALL_QUIET_ZONE)].find(
    (qr) => MARGIN.length + qr.columns <= columns && qr.lines.length + rowsBelow <= rows,
  );
  const title = style('bold', printable(`Sign in to ${service}`));
  return [
    `${title}: ${code ? 'scan the code, or open the link' : 'open the link'} in any browser.`,
    ...(code?.lines ?? []),
    style(['cyan', 'underline'], link),
    ...(byCode ? [byCode.replace(userCode, style('bold', userCode))] : []),
  ].map((line) => MARGIN + line);
}

const TICK_MS = 1_000;
const TROUBLE_SHOWN_MS = 5_000;

/** In the last line, which is removed when it is closed. */
function countDown({ secondsLeft }: Shown): Screen {
  let waiting = 'Waiting for you. Ctrl-C cancels.';
  let trouble = { text: '', untilMs: 0 };

  function draw(): void {
    const isTroubled = performance.now() < trouble.untilMs;
    const words = `${clockText(secondsLeft() * 1_000)}  ${isTroubled ? trouble.text : waiting}`;
    // The last column stays empty, so that nothing wraps.
    const fitting = words.slice(0, Math.max(0, stream.columns - MARGIN.length - 1));
    const line = style(['bold', isTroubled ? 'yellow' : 'green'], fitting);
    stream.write(CLEAR_LINE + MARGIN + line);
  }

  draw();
  const ticks = setInterval(draw, TICK_MS);
  return {
    trouble(text) {
      trouble = { text: printable(text), untilMs: performance.now() + TROUBLE_SHOWN_MS };
      draw();
    },
    opened() {
      waiting = 'Opened: continue there.';
      draw();
    },
    close() {
      clearInterval(ticks);
      stream.write(CLEAR_LINE);
    },
  };
}

const CLEAR_LINE = '\r\x1b[K';
const PLAIN_TICK_MS = 60_000;

function writeLines({ secondsLeft }: Shown): Screen {
  let isOpened = false;
  const tick = () => stream.write(`Waiting: ${clockText(secondsLeft() * 1_000)} left.\n`);
  tick();
  const ticks = setInterval(tick, PLAIN_TICK_MS);
  return {
    trouble: (text) => void stream.write(`${printable(`Trouble: ${text}. Trying again.`)}\n`),
    opened() {
      if (!isOpened) stream.write('The link is open: continue there.\n');
      isOpened = true;
    },
    close: () => clearInterval(ticks),
  };
}
