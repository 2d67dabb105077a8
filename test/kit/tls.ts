/** Certificates for the loopback: one by a CA that a test can trust, and a self-signed one. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './folder.ts';
import { runChild } from './process.ts';

export interface CertificateFiles {
  readonly caFile: string;
  readonly certificateFile: string;
  readonly keyFile: string;
}

let made: Promise<Record<string, string>> | undefined;

/** For 127.0.0.1, signed by a CA. The same one for all: the nodes of a Cluster must trust each other. */
export async function writeCertificate(folder: string): Promise<CertificateFiles> {
  made ??= makeCertificate();
  for (const [name, text] of Object.entries(await made)) writeFileSync(join(folder, name), text);
  return {
    caFile: join(folder, 'ca.pem'),
    certificateFile: join(folder, 'server.pem'),
    keyFile: join(folder, 'server.key'),
  };
}

async function makeCertificate(): Promise<Record<string, string>> {
  const folder = newFolder();
  const file = (name: string) => join(folder, name);
  // By openssl's defaults this is a CA.
  await runOpenssl(['-subj', '/CN=Test CA', '-keyout', file('ca.key'), '-out', file('ca.pem')]);
  await runOpenssl([
    '-subj',
    '/CN=localhost',
    '-keyout',
    file('server.key'),
    '-out',
    file('server.pem'),
    '-CA',
    file('ca.pem'),
    '-CAkey',
    file('ca.key'),
    '-addext',
    'subjectAltName=IP:127.0.0.1,DNS:localhost',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  ]);
  const names = ['ca.pem', 'server.pem', 'server.key'];
  return Object.fromEntries(names.map((name) => [name, readFileSync(file(name), 'utf8')]));
}

/** For localhost, signed by itself. */
export async function makeSelfSigned(): Promise<{ key: string; cert: string }> {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const pem = await runOpenssl([...subject, '-keyout', '-', '-out', '-']);
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^]*?-----END ${name}-----`).exec(pem)?.[0] ?? '';
  return { key: part('PRIVATE KEY'), cert: part('CERTIFICATE') };
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

async function runOpenssl(args: readonly string[]): Promise<string> {
  const { exitCode, output } = await runChild(['openssl', 'req', '-x509', ...NEW_KEY, ...args]);
  if (exitCode !== 0) throw new Error(`openssl failed:\n${output}`);
  return output;
}
