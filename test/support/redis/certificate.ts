/** A certificate for 127.0.0.1, signed by a CA that is made for it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../runner/step.ts';

/** In PEM. */
export interface Certificate {
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateFiles {
  readonly caFile: string;
  readonly certificateFile: string;
  readonly keyFile: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

let made: Promise<Certificate> | undefined;

/** The same one for all: the nodes of a Cluster must trust each other. */
export async function writeCertificate(folder: string): Promise<CertificateFiles> {
  made ??= makeCertificate();
  const { ca, certificate, key } = await made;
  const write = (name: string, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };
  return {
    caFile: write('ca.pem', ca),
    certificateFile: write('server.pem', certificate),
    keyFile: write('server.key', key),
  };
}

async function makeCertificate(): Promise<Certificate> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-tls-'));
  const file = (name: string) => join(folder, name);
  const [caFile, caKeyFile] = [file('ca.pem'), file('ca.key')];
  const [certificateFile, keyFile] = [file('server.pem'), file('server.key')];
  try {
    // By openssl's own defaults this is a CA.
    await makeSigned(['-subj', '/CN=Test CA', '-keyout', caKeyFile, '-out', caFile]);
    await makeSigned([
      ...['-subj', '/CN=localhost', '-keyout', keyFile, '-out', certificateFile],
      ...['-CA', caFile, '-CAkey', caKeyFile],
      ...['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'],
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
    ]);
    const read = (name: string) => readFileSync(name, 'utf8');
    return { ca: read(caFile), certificate: read(certificateFile), key: read(keyFile) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeSigned(args: string[]): Promise<void> {
  const { exitCode, output } = await runCommand(['openssl', 'req', '-x509', ...NEW_KEY, ...args]);
  if (exitCode !== 0) throw new Error(`openssl failed. It said:\n${output}`);
}
