/** Certificates for the loopback, signed by themselves: one that tests trust, and others that nobody trusts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from './process.ts';

export type CertificateFiles = Awaited<ReturnType<typeof writeCertificate>>;

let made: ReturnType<typeof makeSelfSigned> | undefined;

/** The same one for all, so there is one CA to trust. */
export async function writeCertificate(folder: string) {
  made ??= makeSelfSigned();
  const { key, cert } = await made;
  const files = {
    /** What a server shows, and what a client trusts. */
    certificateFile: join(folder, 'server.pem'),
    keyFile: join(folder, 'server.key'),
  };
  writeFileSync(files.certificateFile, cert);
  writeFileSync(files.keyFile, key);
  return files;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
const NAMES = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];

export async function makeSelfSigned(): Promise<{ key: string; cert: string }> {
  const command = ['openssl', 'req', '-x509', ...NEW_KEY, ...NAMES, '-keyout', '-', '-out', '-'];
  const { exitCode, output } = await runChild(command);
  if (exitCode !== 0) throw new Error(`openssl failed:\n${output}`);
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^]*?-----END ${name}-----`).exec(output)?.[0] ?? '';
  return { key: part('PRIVATE KEY'), cert: part('CERTIFICATE') };
}
