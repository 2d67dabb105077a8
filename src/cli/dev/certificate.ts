/** A self-signed certificate for `dev --https`. No program has to be installed. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';
import type { Certificate } from '../../server/runtime.ts';

/** Apple's devices accept at most 825 days, and some browsers 398. */
export const CERTIFICATE_DAYS = 397;

const DAY_MS = 86_400_000;

/* The two kinds of subjectAltName. RFC 5280 §4.2.1.6. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Valid from a day before `nowMs`, since the clock of a device may be slow. */
export function createCertificate(hosts: readonly string[], nowMs: number): Certificate {
  // node-forge would take seconds.
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  // A first byte of 0x40 keeps it positive.
  certificate.serialNumber = `40${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(nowMs - DAY_MS);
  certificate.validity.notAfter = new Date(nowMs - DAY_MS + CERTIFICATE_DAYS * DAY_MS);
  const name = [{ name: 'commonName', value: 'Sign-in Relay dev' }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: false },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: hosts.map(alternativeName) },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(keys.privateKey), forge.md.sha256.create());
  return { key: keys.privateKey, cert: forge.pki.certificateToPem(certificate) };
}

function alternativeName(host: string) {
  return isIP(host) === 0 ? { type: DNS_NAME, value: host } : { type: IP_ADDRESS, ip: host };
}
