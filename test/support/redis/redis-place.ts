/** Where a server of the test listens and writes, and how one gets there. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CertificateFiles, writeCertificate } from './certificate.ts';

export interface Place {
  readonly port: number;
  readonly folder: string;
  /** When it listens on a unix socket, and on nothing else. */
  readonly socketPath: string | undefined;
  /** When it speaks TLS, and nothing else. */
  readonly certificate: CertificateFiles | undefined;
}

export interface Login {
  readonly name?: string;
  /** Empty for none. */
  readonly password: string;
}

export interface PlaceOptions {
  /** TLS alone, with a certificate for 127.0.0.1 by a CA that the test must trust. */
  readonly tls?: boolean;
  /** A unix socket alone. */
  readonly unixSocket?: boolean;
}

export async function makePlace(port: number, options: PlaceOptions): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-redis-'));
  const certificate = options.tls ? await writeCertificate(folder) : undefined;
  const socketPath = options.unixSocket ? join(folder, 'redis.sock') : undefined;
  return { port: options.unixSocket ? 0 : port, folder, socketPath, certificate };
}

/** Lines of redis.conf. */
export function placeLines({ port, folder, socketPath, certificate }: Place): string[] {
  const common = ['bind 127.0.0.1', 'protected-mode no', `dir ${folder}`];
  if (socketPath !== undefined) return [...common, 'port 0', `unixsocket ${socketPath}`];
  if (certificate === undefined) return [...common, `port ${port}`];
  return [
    ...common,
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${certificate.certificateFile}`,
    `tls-key-file ${certificate.keyFile}`,
    `tls-ca-cert-file ${certificate.caFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
    'tls-cluster yes',
  ];
}

/** As `REDIS_URL` would say it. */
export function addressOf({ port, socketPath, certificate }: Place, login: Login): string {
  const at = loginOf(login);
  if (socketPath !== undefined) return `unix://${at}${socketPath}`;
  return `${certificate ? 'rediss' : 'redis'}://${at}127.0.0.1:${port}`;
}

/** What stands before the host in an address. */
export function loginOf({ name = '', password }: Login): string {
  return password === '' ? '' : `${encodeURIComponent(name)}:${encodeURIComponent(password)}@`;
}

/** How redis-cli gets there; the password goes by the environment. */
export function cliArgsOf({ port, socketPath, certificate }: Place): string[] {
  if (socketPath !== undefined) return ['-s', socketPath];
  const secured = certificate ? ['--tls', '--cacert', certificate.caFile] : [];
  return ['-h', '127.0.0.1', '-p', String(port), ...secured];
}
