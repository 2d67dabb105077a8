/** docs/sealing-vectors.json, made with another implementation (Python's `cryptography`). */
import { z } from 'zod';
import vectors from '../../../docs/sealing-vectors.json' with { type: 'json' };

const hex = z.string().regex(/^([0-9a-f]{2})*$/);

/** Strict: a key that no test looks at would be a rule that nobody holds. */
const form = z.strictObject({
  derivations: z.array(
    z.strictObject({
      what: z.enum(['browser state', 'poll secret', 'user code', 'refresh']),
      secret: z.string(),
      id: z.string(),
      key: hex,
    }),
  ),
  seals: z.array(
    z.strictObject({
      what: z.string(),
      key: hex,
      nonce: hex,
      context: z.string(),
      plaintext: hex,
      sealed: z.string(),
    }),
  ),
  refused: z.array(
    z.strictObject({ why: z.string(), key: hex, context: z.string(), sealed: z.string() }),
  ),
  toDevice: z.array(
    z.strictObject({
      pollSecret: z.string(),
      devicePrivateKey: hex,
      deviceKey: hex,
      sessionKey: hex,
      ephemeralPrivateKey: hex,
      nonce: hex,
      context: z.string(),
      plaintext: hex,
      resultKey: hex,
      sealed: z.string(),
    }),
  ),
  refusedToDevice: z.array(
    z.strictObject({
      why: z.string(),
      pollSecret: z.string(),
      sessionKey: hex,
      context: z.string(),
      sealed: z.string(),
    }),
  ),
  record: z.strictObject({
    browserState: z.string(),
    pollSecret: z.string(),
    service: z.string(),
    verifier: z.string(),
    result: z.strictObject({
      accessToken: z.string(),
      refreshToken: z.string(),
      expiresIn: z.number(),
    }),
    sessionKey: z.string(),
    pollKey: z.string(),
    pointer: z.string(),
    sealedVerifier: z.string(),
    sealedResult: z.string(),
  }),
  codeRecord: z.strictObject({
    browserState: z.string(),
    pollSecret: z.string(),
    userCode: z.string(),
    service: z.string(),
    deviceName: z.string(),
    result: z.strictObject({ accessToken: z.string(), tokenType: z.string() }),
    codeKey: z.string(),
    sealedBrowserState: z.string(),
    pollKey: z.string(),
    pointer: z.string(),
    sessionKey: z.string(),
    sealedVerifier: z.string(),
    sealedDeviceName: z.string(),
    sealedDeviceKey: z.string(),
    sealedResult: z.string(),
  }),
});

export const parseVectors = (json: unknown) => form.parse(json);

export const VECTORS = parseVectors(vectors);
