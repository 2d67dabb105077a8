/**
 * What grant does for single providers in `lib/flow/oauth2.js`, which is code and not
 * data. The catalogue's test fails if that file names a provider that is not here.
 */
import type { ProviderFacts } from '../src/providers/catalogue.ts';

/** Providers without a profile that get the client id and secret by HTTP Basic. `lib/flow/oauth2.js`, `exports.access`. */
export const TAKES_BASIC: readonly string[] = [
  'autodesk',
  'ebay',
  'homeaway',
  'hootsuite',
  'notion',
  'trustpilot',
  'twitter2',
];

/** Providers that take token requests as JSON. */
export const TAKES_JSON: readonly string[] = ['notion'];

export interface Correction extends Partial<ProviderFacts> {
  /** Where the right address was read, on 2026-11-21. */
  readonly source: string;
}

/** Where grant has the address of a sandbox, or one that has moved. */
export const CORRECTIONS: Readonly<Record<string, Correction>> = {
  logingov: {
    authorizeUrl: 'https://secure.login.gov/openid_connect/authorize',
    tokenUrl: 'https://secure.login.gov/api/openid_connect/token',
    pkce: 'S256',
    source: 'https://apis.io/apis/login-gov/login-gov-oidc-api/',
  },
  twitter2: {
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    tokenUrl: 'https://api.x.com/2/oauth2/token',
    pkce: 'S256',
    source: 'https://github.com/golang/oauth2/blob/master/endpoints/endpoints.go',
  },
};

/** Providers that deviate from the standard in a way that the relay does not support. Each text completes "this provider …". */
export const DEPARTURES: Readonly<Record<string, string>> = {
  basecamp: 'wants `type=web_server` in both requests',
  concur: 'takes the code and the secret in the address',
  freelancer: 'takes `advanced_scopes` in place of `scope`',
  instagram: 'may want `app_id` and `app_secret` in place of `client_id` and `client_secret`',
  optimizely: 'takes `scopes` in place of `scope`',
  qq: 'takes the exchange by GET',
  smartsheet: 'takes a hash of the secret and the code in place of the secret',
  surveymonkey: 'wants an `api_key` in the token address',
  tiktok: 'takes `client_key` in place of `client_id`',
  untappd: 'takes the exchange by GET',
  visualstudio: 'takes the code as a JWT assertion',
  wechat: 'takes `appid` and `secret`, and the exchange by GET',
  withings: 'wants `action=requesttoken` and wraps its answer',
};

/** Special cases in grant that make no difference to the relay. */
export const NO_DIFFERENCE: readonly string[] = [
  'unsplash', // its literal `+` between scopes is a space in any form encoding
  'intuit', // only adds a field to what grant returns
];
