/** A certificate for 127.0.0.1, and the file of the authority that signed it: itself. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeTemporaryFolder } from './temporary-folder.ts';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly caFile: string;
}

const ARGS =
  'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';

/** Undefined where there is no openssl. */
export function makeCertificate(): Certificate | undefined {
  if (Bun.which('openssl') === null) return undefined;
  const folder = makeTemporaryFolder();
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'ca.pem')];
  const made = Bun.spawnSync(['openssl', ...ARGS.split(' '), '-keyout', keyFile, '-out', caFile]);
  if (made.exitCode !== 0) throw new Error(`openssl: ${made.stderr.toString()}`);
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(caFile, 'utf8'), caFile };
}
