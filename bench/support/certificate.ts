/** A certificate for 127.0.0.1, and the file of the authority that signed it: itself. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly caFile: string;
  remove(): void;
}

const ARGS =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';

/** Undefined where there is no openssl. */
export function makeCertificate(): Certificate | undefined {
  if (Bun.which('openssl') === null) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-bench-'));
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')];
  const made = Bun.spawnSync(['openssl', ...ARGS.split(' '), '-keyout', keyFile, '-out', caFile]);
  if (made.exitCode !== 0) throw new Error(`openssl: ${made.stderr.toString()}`);
  return {
    key: readFileSync(keyFile, 'utf8'),
    cert: readFileSync(caFile, 'utf8'),
    caFile,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
