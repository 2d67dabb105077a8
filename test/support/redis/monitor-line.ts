/** Reads what MONITOR says of a command: `1339518083.1 [0 127.0.0.1:6380] "set" "key" "\x00"`. */

const ARGUMENT = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPE = /\\(?:x([0-9a-f]{2})|(.))/g;
const CONTROLS: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  a: '\x07',
  b: '\b',
};

/** The command's name and its arguments. */
export function parseMonitorLine(line: string): Buffer[] {
  const command = line.slice(line.indexOf('] "') + 2);
  return [...command.matchAll(ARGUMENT)].map(([, quoted = '']) => unquote(quoted));
}

function unquote(quoted: string): Buffer {
  const text = quoted.replace(ESCAPE, (_, hex: string | undefined, character: string) =>
    hex === undefined ? (CONTROLS[character] ?? character) : String.fromCharCode(parseInt(hex, 16)),
  );
  return Buffer.from(text, 'latin1');
}
