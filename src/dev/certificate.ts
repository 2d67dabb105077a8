/**
 * A self-signed certificate for `dev --https`. node:crypto makes keys and
 * signatures but no certificates, so the few structures of X.509 that one needs are
 * written here (RFC 5280, in DER as ITU-T X.690 has it). No program has to be installed.
 */
import { Buffer } from 'node:buffer';
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

export interface Certificate {
  /** PEM, PKCS #8. */
  readonly key: string;
  readonly cert: string;
}

/** Apple's devices accept at most 825 days, and some browsers 398. */
export const CERTIFICATE_DAYS = 397;

const DAY_MS = 86_400_000;

/** For these host names and IPv4 addresses, from a day before `nowMs`, since the clock of a device may be slow. */
export function createCertificate(hosts: readonly string[], nowMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid('2.5.4.3'), utf8('Sign-in Relay dev'))));
  const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
  const validFromMs = nowMs - DAY_MS;
  // RFC 5280 §4.1.
  const content = sequence(
    explicit(0, integer(Buffer.from([2]))),
    // A first bit of 0 keeps it positive.
    integer(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(utcTime(validFromMs), utcTime(validFromMs + CERTIFICATE_DAYS * DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(
      3,
      sequence(
        // It vouches for nobody else.
        extension('2.5.29.19', CRITICAL, sequence()),
        // digitalSignature
        extension('2.5.29.15', CRITICAL, tlv(BIT_STRING, Buffer.from([7, 0x80]))),
        // serverAuth
        extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
        extension('2.5.29.17', sequence(...hosts.map(alternativeName))),
      ),
    ),
  );
  const signature = sign('sha256', content, privateKey);
  const certificate = sequence(content, ecdsaWithSha256, bitString(signature));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: toPem('CERTIFICATE', certificate),
  };
}

const BIT_STRING = 0x03;
const CRITICAL = Buffer.from([0x01, 0x01, 0xff]);

function tlv(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(value.length)]), value]);
}

/** One byte below 128, otherwise the number of bytes that follow, and those. */
function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

const sequence = (...parts: readonly Buffer[]) => tlv(0x30, ...parts);
const set = (...parts: readonly Buffer[]) => tlv(0x31, ...parts);
const explicit = (number: number, part: Buffer) => tlv(0xa0 + number, part);
const integer = (bytes: Buffer) => tlv(0x02, bytes);
const utf8 = (text: string) => tlv(0x0c, Buffer.from(text));
const bitString = (bytes: Buffer) => tlv(BIT_STRING, Buffer.from([0]), bytes);

/** `YYMMDDHHMMSSZ`, up to 2049. */
function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${digits}Z`));
}

/** The first two numbers share a byte; the others are in base 128, and each byte but the last has its first bit set. */
function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = rest.flatMap((number) => {
    const septets = [number & 0x7f];
    for (let left = number >> 7; left > 0; left >>= 7) septets.unshift((left & 0x7f) | 0x80);
    return septets;
  });
  return tlv(0x06, Buffer.from([40 * first + second, ...bytes]));
}

function extension(id: string, ...parts: readonly Buffer[]): Buffer {
  const value = parts.at(-1) ?? Buffer.alloc(0);
  return sequence(oid(id), ...parts.slice(0, -1), tlv(0x04, value));
}

/** RFC 5280 §4.2.1.6: an address is its bytes, a name its ASCII. */
function alternativeName(host: string): Buffer {
  return isIP(host) === 4
    ? tlv(0x87, Buffer.from(host.split('.').map(Number)))
    : tlv(0x82, Buffer.from(host));
}

function toPem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
