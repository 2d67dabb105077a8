/** Schemas and headers of the API document. */
import { CAPABILITY_SHAPE, USER_CODE_ALPHABET } from '../../limits.ts';
import type { Part } from './parts.ts';

const text = (description: string, rest: Part = {}): Part => ({
  type: 'string',
  description,
  ...rest,
});
const seconds = (description: string): Part => ({ type: 'integer', minimum: 1, description });
const ref = (schema: string): Part => ({ $ref: `#/components/schemas/${schema}` });

/** No other members: what an answer holds is said here, all of it. */
function closed(properties: Part, optional: readonly string[] = []): Part {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const half = `[${USER_CODE_ALPHABET}]{4}`;

const AUTH_SCHEMAS: Part = {
  Capability: {
    type: 'string',
    pattern: CAPABILITY_SHAPE.source,
    description: '144 random bits in base64url. Whoever has it may use it',
  },
  UserCode: { type: 'string', pattern: `^${half}-${half}$`, description: 'RFC 8628 section 6.1' },
  Started: closed(
    {
      session: { ...ref('Capability'), description: 'The poll secret; never leaves the device' },
      url: text('The link, for the person', { format: 'uri' }),
      expiresIn: seconds('Life of the sign-in, in seconds'),
      userCode: { ...ref('UserCode'), description: 'Where `code` was asked for' },
      link: text('Where the user code leads; where `code` was asked for', { format: 'uri' }),
      qr: text('A picture of the link; where `code` was asked for', { format: 'uri' }),
    },
    ['userCode', 'link', 'qr'],
  ),
  Tokens: closed(
    {
      accessToken: text('', { minLength: 1 }),
      refreshToken: text('If the provider gave one', { minLength: 1 }),
      expiresIn: seconds('If the provider said so'),
    },
    ['refreshToken', 'expiresIn'],
  ),
  Failed: closed({
    error: { enum: ['access_denied', 'authorization_failed', 'missing_code', 'exchange_failed'] },
  }),
  Result: { oneOf: [ref('Tokens'), ref('Failed')] },
};

const OAUTH_SCHEMAS: Part = {
  DeviceAuthorization: closed({
    device_code: { ...ref('Capability'), description: 'Never leaves the device' },
    user_code: ref('UserCode'),
    verification_uri: text('Where the person types the code', { format: 'uri' }),
    verification_uri_complete: text('The same with the code in it', { format: 'uri' }),
    expires_in: seconds('Life of both codes'),
    interval: seconds('To wait between two polls'),
  }),
  TokenResponse: closed(
    {
      access_token: text('', { minLength: 1 }),
      token_type: text('As the provider says; else Bearer', { minLength: 1 }),
      scope: text('As the provider says; else empty'),
      expires_in: seconds('If the provider said so'),
      refresh_token: text('If the provider gave one', { minLength: 1 }),
      id_token: text('If the provider gave one', { minLength: 1 }),
    },
    ['expires_in', 'refresh_token', 'id_token'],
  ),
  OAuthError: closed({
    error: text('RFC 6749 section 5.2, RFC 8628 section 3.5, or one of the relay', {
      pattern: '^[a-z_]+$',
    }),
    error_description: text('In words, for a developer'),
  }),
  Metadata: closed({
    issuer: text('', { format: 'uri' }),
    device_authorization_endpoint: text('', { format: 'uri' }),
    token_endpoint: text('', { format: 'uri' }),
    grant_types_supported: { type: 'array', items: { type: 'string' } },
    response_types_supported: { type: 'array', maxItems: 0 },
    token_endpoint_auth_methods_supported: { type: 'array', items: { const: 'none' } },
  }),
};

export const SCHEMAS: Part = {
  ...AUTH_SCHEMAS,
  ...OAUTH_SCHEMAS,
  Page: text('For a person, in their language', { pattern: '^<!doctype html>' }),
};

const must = (schema: Part, description: string): Part => ({ required: true, description, schema });

export const HEADERS: Part = {
  NoStore: must({ const: 'no-store, private' }, 'Addresses and answers hold secrets'),
  NoCache: must({ const: 'no-cache' }, 'RFC 6749 section 5.1'),
  ContentSecurityPolicy: must(
    { type: 'string', pattern: "^default-src 'none'; " },
    "Nothing but the page's own style",
  ),
  ReferrerPolicy: must(
    { enum: ['no-referrer', 'same-origin'] },
    'same-origin on pages with a form, so that it says where it comes from',
  ),
  NoSniff: must({ const: 'nosniff' }, 'The type is the one that is said'),
  Location: must({ type: 'string', format: 'uri-reference' }, 'Where the browser goes next'),
  RetryAfter: must({ type: 'integer', minimum: 1 }, 'Seconds'),
  RetryAfterOptional: { description: 'Seconds', schema: { type: 'integer', minimum: 1 } },
  PreferenceApplied: {
    description: 'RFC 7240 section 3, where `Prefer` was heeded',
    schema: { type: 'string', pattern: '^wait=\\d+$' },
  },
};
