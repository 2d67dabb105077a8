/** Settings that are right in themselves, but do not fit this machine: warnings at a start. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { codeOf } from '../providers/connect-problem.ts';
import type { Settings, SettingWarning } from '../settings/index.ts';
import { fileDescriptorsFor, readFileDescriptors } from './file-descriptors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function findMachineWarnings(settings: Settings, environment: Environment) {
  return [...findFileWarnings(settings, environment), ...findFileDescriptorWarning(settings)];
}

/** `check` has a line of its own for file descriptors. */
export function findFileWarnings(settings: Settings, environment: Environment): SettingWarning[] {
  return [...findCertificateWarning(settings), ...findCaWarning(environment)];
}

/** A certificate that cannot be used prevents the start. */
function findCertificateWarning({ tls, baseUrl }: Settings): SettingWarning[] {
  if (tls === undefined || baseUrl === undefined) return [];
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(readFileSync(tls.certFile));
  } catch {
    return [];
  }
  // Browsers do not look at the common name (RFC 9525 §2).
  const isFor = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host, SAN_ALONE);
  const problem = `is not a certificate for ${host}, the host of OAUTH_BASE_URL`;
  return isFor === undefined ? [{ setting: 'TLS_CERT_FILE', problem }] : [];
}

const SAN_ALONE = { subject: 'never' } as const;

/** The runtime reads it, and goes on without. */
function findCaWarning({ NODE_EXTRA_CA_CERTS: path }: Environment): SettingWarning[] {
  if (!path) return [];
  try {
    readFileSync(path);
    return [];
  } catch (error) {
    const problem = `names a file that cannot be read (${codeOf(error)}): its certificates are not trusted`;
    return [{ setting: 'NODE_EXTRA_CA_CERTS', problem }];
  }
}

function findFileDescriptorWarning({ maxSessions }: Settings): SettingWarning[] {
  const { max = Number.POSITIVE_INFINITY } = readFileDescriptors();
  const needed = fileDescriptorsFor(maxSessions);
  if (max >= needed) return [];
  const problem = `is ${maxSessions}, and this process may open only ${max} files and connections: allow ${needed} (ulimit -n, LimitNOFILE)`;
  return [{ setting: 'MAX_SESSIONS', problem }];
}
