/**
 * No log, page or stored record may contain a secret. Tests plant every secret
 * that they make or see, and the last step of `npm test` searches all logs for all of them.
 */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A shorter one could occur in a log by chance. */
const MIN_PLANTED_CHARACTERS = 12;

/** Records a secret for the search at the end of the run, and returns it. Empty: there is none. */
export function plantSecret<Value extends string>(value: Value): Value {
  if (value !== '' && value.length < MIN_PLANTED_CHARACTERS) {
    throw new RangeError('too short to be searched for');
  }
  if (value.includes('\n')) throw new RangeError('the lines are secrets of their own');
  const file = process.env.RELAY_TEST_SECRETS;
  if (file && value !== '') appendFileSync(file, `${value}\n`);
  return value;
}

/** For helpers that also see the short tokens of tests in this process. */
export function plantIfLong<Value extends string>(value: Value): Value {
  return value.length < MIN_PLANTED_CHARACTERS ? value : plantSecret(value);
}

/** A shorter form is found by chance, and proves nothing when it is not found. */
const MIN_FORM_BYTES = 8;

/**
 * How a secret looks when something has encoded it: the secret and the bytes that
 * it stands for, each plain, in hex and in base64 at any offset, each also escaped.
 */
function formsOf(secret: string): readonly string[] {
  const plain = Buffer.from(secret);
  if (plain.length < MIN_FORM_BYTES) throw new Error(`too short to search for: ${plain.length}`);
  const decoded = (['base64url', 'base64', 'hex'] as const).flatMap((encoding) => {
    const bytes = Buffer.from(secret, encoding);
    const isEncoded = bytes.toString(encoding) === secret;
    return isEncoded ? encodingsOf(bytes) : [];
  });
  const forms = [...encodingsOf(plain), ...decoded]
    .filter((form) => form.length >= MIN_FORM_BYTES)
    .flatMap(withEscapes);
  return [...new Set(forms)];
}

/** Bytes as text of one character a byte. */
function encodingsOf(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].flatMap((shift) => [
    base64Inside(bytes, shift, 'base64'),
    base64Inside(bytes, shift, 'base64url'),
  ]);
  return [bytes.toString('latin1'), hex, hex.toUpperCase(), ...base64];
}

/** The characters that depend on the secret alone when `shift` unknown bytes precede it. */
function base64Inside(bytes: Buffer, shift: number, encoding: 'base64' | 'base64url'): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString(encoding);
  const first = Math.ceil((shift * 8) / 6);
  const last = Math.floor(((shift + bytes.length) * 8) / 6);
  return text.slice(first, last);
}

/** As JSON, Lua's cjson and a URL escape it, where that differs. */
function withEscapes(form: string): string[] {
  const json = JSON.stringify(form).slice(1, -1);
  return [form, json, json.replaceAll('/', '\\/'), encodeURIComponent(form)];
}

/** Whether the secret is there in any form. */
export const containsSecret = (bytes: Buffer, secret: string) =>
  createFinder([secret])(bytes.toString('latin1')).size > 0;

/** Searches each file of the folder for each planted secret. A finding shows the beginning of the secret. */
export function searchLogs(logFolder: string, secretsFile: string) {
  const secrets = [...new Set(readFileSync(secretsFile, 'utf8').split('\n').filter(Boolean))];
  const logs = readdirSync(logFolder);
  const find = createFinder(secrets);
  const findings = logs.flatMap((name) => {
    const found = find(readFileSync(join(logFolder, name), 'latin1'));
    return [...found].map((secret) => `${name} contains ${secret.slice(0, 6)}…`);
  });
  return { secrets: secrets.length, logs: logs.length, findings };
}

/** Reads a text once, however many secrets there are: by the first characters of their forms. */
function createFinder(secrets: readonly string[]): (text: string) => Set<string> {
  const byStart = new Map<string, { form: string; secret: string }[]>();
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      const start = form.slice(0, MIN_FORM_BYTES);
      const forms = byStart.get(start) ?? [];
      forms.push({ form, secret });
      byStart.set(start, forms);
    }
  }
  return (text) => {
    const found = new Set<string>();
    for (let at = 0; at < text.length; at += 1) {
      for (const { form, secret } of byStart.get(text.slice(at, at + MIN_FORM_BYTES)) ?? []) {
        if (text.startsWith(form, at)) found.add(secret);
      }
    }
    return found;
  };
}
