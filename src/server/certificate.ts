/** Reads the certificate and its key from files, and reads them again when they change. */
import { statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { CERTIFICATE_CHECK_MS } from '../limits.ts';
import { log } from '../log.ts';
import { codeOf } from '../providers/connect-problem.ts';
import type { TlsFiles } from '../settings/index.ts';
import { readTextFile } from '../text-file.ts';
import type { Certificate } from './runtime.ts';

/** The files cannot be used. The message begins with the setting and contains nothing of a file. */
export class CertificateProblem extends Error {}

export interface CertificateWatch {
  readonly current: Certificate;
  /** Calls `renew` with each new usable certificate: soon after its files change, and at SIGHUP. */
  onChange(renew: (certificate: Certificate) => void): void;
}

/** Throws CertificateProblem if the files cannot be used now. */
export function watchCertificate(files: TlsFiles): CertificateWatch {
  let known = stateOf(files);
  let current = readCertificate(files);

  /** A new certificate and its key are two files, which may not match for a moment: the old pair stays in use. */
  function check(renew: (certificate: Certificate) => void): void {
    known = stateOf(files);
    try {
      const read = readCertificate(files);
      if (read.cert === current.cert && read.key === current.key) return;
      current = read;
      renew(current);
      log.info('certificate_renewed');
    } catch (error) {
      const problem = error instanceof CertificateProblem ? error.message : 'cannot be used';
      log.warning('certificate_unusable', { problem });
    }
  }

  return {
    current,
    onChange(renew) {
      process.on('SIGHUP', () => check(renew));
      // Not fs.watch: certbot and Kubernetes replace a symbolic link somewhere on the path.
      const timer = setInterval(() => {
        if (stateOf(files) !== known) check(renew);
      }, CERTIFICATE_CHECK_MS);
      timer.unref();
    },
  };
}

/** Changes when one of the files is replaced or written to, or cannot be reached any more. */
function stateOf({ certFile, keyFile }: TlsFiles): string {
  return [certFile, keyFile].map(stateOfFile).join();
}

function stateOfFile(path: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(path);
    return [ino, mtimeMs, size].join(' ');
  } catch (error) {
    // Such as EACCES of a folder above it. Reading the file then says so.
    return codeOf(error);
  }
}

function readCertificate({ certFile, keyFile }: TlsFiles): Certificate {
  const cert = readPem('TLS_CERT_FILE', certFile, 'CERTIFICATE');
  const key = readPem('TLS_KEY_FILE', keyFile, 'PRIVATE KEY');
  try {
    createSecureContext({ cert, key });
  } catch {
    // Its message may quote the file.
    throw new CertificateProblem(
      'TLS_KEY_FILE must hold the key of TLS_CERT_FILE, without a passphrase',
    );
  }
  return { cert, key };
}

function readPem(setting: string, path: string, label: string): string {
  let text: string;
  try {
    text = readTextFile(path, 'utf8');
  } catch (error) {
    throw new CertificateProblem(
      `${setting} must name a file that can be read (${codeOf(error) || 'unreadable'})`,
    );
  }
  if (new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text)) return text;
  throw new CertificateProblem(`${setting} must name a PEM file with a ${label.toLowerCase()}`);
}
