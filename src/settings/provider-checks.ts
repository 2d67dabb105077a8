import { z } from 'zod';
import {
  findAddressProblem,
  findAuthorizeParameter,
  findAuthorizeUrlProblem,
  findTokenUrlProblem,
} from '../providers/address.ts';
import type { ClientAuthentication, PkceMethod } from '../providers/provider.ts';
import type { ProviderSettingName } from './names.ts';
import { shownName } from './shown-name.ts';

/** What each setting of a provider may hold, and what it becomes. */

const text = z.string().trim();

/** Inside a client id or secret a line break is a slip of the hand, and at the provider a refusal. */
const CONTROL_CHARACTER = 'must hold no line break or other control character';
const hasNoControlCharacter = (value: string) => !/\p{Cc}/u.test(value);

function addressWithout(findProblem: (address: string) => string | undefined) {
  return text.superRefine((value, context) => {
    const problem = findProblem(value);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  });
}

/** RFC 8414 §2: an issuer has no query. */
const issuer = addressWithout(findAddressProblem).refine(
  (value) => !value.includes('?'),
  'must hold no query (?): an issuer has none',
);

const authorizeParams = text
  .transform((value) => new URLSearchParams(value))
  .superRefine((query, context) => {
    const problem = findParamsProblem(query);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  })
  .transform((query): Readonly<Record<string, string>> => Object.fromEntries(query));

function findParamsProblem(query: URLSearchParams): string | undefined {
  const names = [...query.keys()];
  const set = findAuthorizeParameter(query);
  if (set === 'scope') return 'must not hold scope: that is the setting ending in _SCOPE';
  if (set) return `must not hold ${set}: the relay sets it`;
  if (new Set(names).size < names.length) return 'must hold each parameter once';
  return [...query].every(([name, value]) => name && value)
    ? undefined
    : 'must be written as in a query, such as access_type=offline&prompt=consent';
}

const pkce = text
  .toLowerCase()
  .pipe(z.enum(['none', 'plain', 's256'], 'must be none, plain or S256'))
  .transform((method): PkceMethod => (method === 's256' ? 'S256' : method));

const clientAuth = text
  .toLowerCase()
  .pipe(z.enum(['post', 'basic'] satisfies ClientAuthentication[], 'must be post or basic'));

/** A customer's part of a host, or a whole host with port and path, where the address lets it. */
const subdomain = text.regex(
  /^[a-z0-9]([\w.-]*[a-z0-9])?(:\d+)?(\/[\w.~-]+)*$/i,
  'must be the part of the address that is yours, such as mycompany, without https://',
);

export const PROVIDER_CHECKS = {
  CLIENT_ID: text.refine(hasNoControlCharacter, CONTROL_CHARACTER),
  // As it is: only the provider knows which blanks belong to it.
  CLIENT_SECRET: z.string().refine(hasNoControlCharacter, CONTROL_CHARACTER),
  // Copied from a browser, it tends to come with everything behind it.
  AUTHORIZE_URL: addressWithout(findAuthorizeUrlProblem),
  TOKEN_URL: addressWithout(findTokenUrlProblem),
  ISSUER: issuer,
  SUBDOMAIN: subdomain,
  DISPLAY_NAME: shownName,
  // A scope has no spaces, so one between two is all there is. RFC 6749 §3.3.
  SCOPE: text.transform((value) => value.split(/\s+/).join(' ')),
  PKCE: pkce,
  CLIENT_AUTH: clientAuth,
  AUTHORIZE_PARAMS: authorizeParams,
} satisfies Record<Exclude<ProviderSettingName, 'CLIENT_SECRET_FILE'>, z.ZodType>;
