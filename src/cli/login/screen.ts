/** What `login` shows while it waits: a QR code, the link, a code and a countdown in a terminal, plain lines elsewhere. */
import type { Prompt, SessionState } from '../../../client/src/index.ts';
import { clockText, printable, renderQr, styleFor } from '../terminal.ts';

/** Problems are shown after this delay, so that one which ends the sign-in is not reported twice. */
const PROBLEM_AFTER_MS = 100;
const PROBLEM_SHOWN_MS = 5_000;
const TICK_MS = 1_000;
const PLAIN_TICK_MS = 60_000;
const WAITING = 'Waiting for you. Ctrl-C cancels.';
const OPENED = 'The link is open: continue there.';
const CLEAR_LINE = '\r\x1b[K';

/** stdout is for tokens. */
const stream = process.stderr;

/**
 * A terminal that cannot move its cursor (TERM=dumb, as in Emacs), or whose size nobody has set
 * (0 by 0, as of a serial console), gets plain lines.
 */
const canDraw = stream.isTTY && stream.columns > 0 && process.env.TERM !== 'dumb';
const colour = styleFor(stream);
const style: typeof colour = (format, text) => (canDraw ? colour(format, text) : text);

/** Shows one link after the other. In a terminal only the last line changes. */
export function createScreen(service: string) {
  let prompt: Prompt | undefined;
  let words = WAITING;
  let problem = { text: '', untilMs: 0 };
  let ticks: NodeJS.Timeout | undefined;
  let problemTimer: NodeJS.Timeout | undefined;

  const clock = () => clockText((prompt?.secondsLeft() ?? 0) * 1_000);
  const writePlain = (text: string) => stream.write(`${printable(text)}\n`);

  function draw(): void {
    const hasProblem = performance.now() < problem.untilMs;
    const line = `${clock()}  ${hasProblem ? problem.text : words}`;
    // The last column stays empty, so that nothing wraps.
    const fitting = line.slice(0, Math.max(0, stream.columns - MARGIN.length - 1));
    stream.write(CLEAR_LINE + MARGIN + style(['bold', hasProblem ? 'yellow' : 'green'], fitting));
  }

  function open(next: Prompt): void {
    close();
    prompt = next;
    words = WAITING;
    problem.untilMs = 0;
    const size = canDraw ? [stream.columns, stream.rows] : [];
    stream.write(`${describeLink(service, next, ...size).join('\n')}\n`);
    const tick = canDraw ? draw : () => writePlain(`Waiting: ${clock()} left.`);
    tick();
    ticks = setInterval(tick, canDraw ? TICK_MS : PLAIN_TICK_MS);
  }

  function showProblem(text: string): void {
    if (!canDraw || prompt === undefined) writePlain(`Problem: ${text}; retrying.`);
    else {
      problem = { text: printable(text), untilMs: performance.now() + PROBLEM_SHOWN_MS };
      draw();
    }
  }

  function close(): void {
    clearTimeout(problemTimer);
    clearInterval(ticks);
    if (canDraw && prompt !== undefined) stream.write(CLEAR_LINE);
  }

  return {
    show(state: SessionState): void {
      if ('prompt' in state && state.prompt && state.prompt.link !== prompt?.link) {
        open(state.prompt);
      }
      if (state.status === 'opened' && words !== OPENED) {
        words = OPENED;
        if (canDraw) draw();
        else writePlain(OPENED);
      }
      if (state.status === 'reconnecting') {
        clearTimeout(problemTimer);
        problemTimer = setTimeout(showProblem, PROBLEM_AFTER_MS, state.detail);
      }
    },
    close,
  };
}

const MARGIN = '  ';
/** A smaller margin than the standard's four still scans on a screen, and may be what fits. */
const SMALL_QUIET_ZONE = 2;

/** Draws the QR code with the largest margin that fits on the screen, or not at all. */
export function describeLink(service: string, prompt: Prompt, columns = 0, rows = 0): string[] {
  const { link, userCode, verificationUrl } = prompt;
  const byCode = userCode && `Or type ${userCode} at ${printable(verificationUrl ?? '')}`;
  const width = Math.max(columns, 1);
  const rowsOf = (text = '') => Math.ceil((MARGIN.length + text.length) / width);
  // The title may scroll off the screen. The last row has the countdown.
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
