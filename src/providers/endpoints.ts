/**
 * Providers of which only the endpoints are known: an operator sets PKCE and scopes. Each was
 * compared with a maintained source on 2026-11-22. A provider that none has is not listed,
 * because an endpoint that has moved is worse than none. Any other provider is set by its
 * issuer or its endpoints (docs/configuration.md "Providers").
 */
import type { KnownProvider } from './profile.ts';

export interface KnownEndpoints extends KnownProvider {
  readonly source: string;
}

const NANGO = 'https://github.com/NangoHQ/nango/blob/master/packages/providers/providers.yaml';
const GOLANG = 'https://github.com/golang/oauth2/blob/master/endpoints/endpoints.go';

/** Placeholder for the part of a URL that differs between customers of a provider. */
export const SUBDOMAIN = '[subdomain]';

const endpoints: Readonly<Record<string, KnownEndpoints>> = {
  acuityscheduling: {
    authorizeUrl: 'https://acuityscheduling.com/oauth2/authorize',
    tokenUrl: 'https://acuityscheduling.com/oauth2/token',
    source: NANGO,
  },
  adobe: {
    authorizeUrl: 'https://ims-na1.adobelogin.com/ims/authorize/v2',
    tokenUrl: 'https://ims-na1.adobelogin.com/ims/token/v3',
    source: NANGO,
  },
  amazon: {
    authorizeUrl: 'https://www.amazon.com/ap/oa',
    tokenUrl: 'https://api.amazon.com/auth/o2/token',
    source: GOLANG,
  },
  asana: {
    authorizeUrl: 'https://app.asana.com/-/oauth_authorize',
    tokenUrl: 'https://app.asana.com/-/oauth_token',
    source: GOLANG,
  },
  atlassian: {
    authorizeUrl: 'https://auth.atlassian.com/authorize',
    tokenUrl: 'https://auth.atlassian.com/oauth/token',
    source: NANGO,
  },
  auth0: {
    authorizeUrl: 'https://[subdomain].auth0.com/authorize',
    tokenUrl: 'https://[subdomain].auth0.com/oauth/token',
    source: NANGO,
  },
  autodesk: {
    authorizeUrl: 'https://developer.api.autodesk.com/authentication/v2/authorize',
    tokenUrl: 'https://developer.api.autodesk.com/authentication/v2/token',
    clientAuth: 'basic',
    source: NANGO,
  },
  bitbucket: {
    authorizeUrl: 'https://bitbucket.org/site/oauth2/authorize',
    tokenUrl: 'https://bitbucket.org/site/oauth2/access_token',
    source: GOLANG,
  },
  bitly: {
    authorizeUrl: 'https://bitly.com/oauth/authorize',
    tokenUrl: 'https://api-ssl.bitly.com/oauth/access_token',
    source: NANGO,
  },
  digitalocean: {
    authorizeUrl: 'https://cloud.digitalocean.com/v1/oauth/authorize',
    tokenUrl: 'https://cloud.digitalocean.com/v1/oauth/token',
    source: NANGO,
  },
  docusign: {
    authorizeUrl: 'https://account.docusign.com/oauth/auth',
    tokenUrl: 'https://account.docusign.com/oauth/token',
    clientAuth: 'basic',
    source: NANGO,
  },
  egnyte: {
    authorizeUrl: 'https://[subdomain].egnyte.com/puboauth/token',
    tokenUrl: 'https://[subdomain].egnyte.com/puboauth/token',
    source: NANGO,
  },
  eventbrite: {
    authorizeUrl: 'https://www.eventbrite.com/oauth/authorize',
    tokenUrl: 'https://www.eventbrite.com/oauth/token',
    source: NANGO,
  },
  freeagent: {
    authorizeUrl: 'https://api.freeagent.com/v2/approve_app',
    tokenUrl: 'https://api.freeagent.com/v2/token_endpoint',
    clientAuth: 'basic',
    source: NANGO,
  },
  getbase: {
    authorizeUrl: 'https://api.getbase.com/oauth2/authorize',
    tokenUrl: 'https://api.getbase.com/oauth2/token',
    clientAuth: 'basic',
    source: NANGO,
  },
  heroku: {
    authorizeUrl: 'https://id.heroku.com/oauth/authorize',
    tokenUrl: 'https://id.heroku.com/oauth/token',
    source: GOLANG,
  },
  intuit: {
    authorizeUrl: 'https://appcenter.intuit.com/connect/oauth2',
    tokenUrl: 'https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer',
    source: NANGO,
  },
  kakao: {
    authorizeUrl: 'https://kauth.kakao.com/oauth/authorize',
    tokenUrl: 'https://kauth.kakao.com/oauth/token',
    source: GOLANG,
  },
  line: {
    authorizeUrl: 'https://access.line.me/oauth2/v2.1/authorize',
    tokenUrl: 'https://api.line.me/oauth2/v2.1/token',
    source: GOLANG,
  },
  linkedin: {
    authorizeUrl: 'https://www.linkedin.com/oauth/v2/authorization',
    tokenUrl: 'https://www.linkedin.com/oauth/v2/accessToken',
    source: GOLANG,
  },
  mailchimp: {
    authorizeUrl: 'https://login.mailchimp.com/oauth2/authorize',
    tokenUrl: 'https://login.mailchimp.com/oauth2/token',
    source: GOLANG,
  },
  myob: {
    authorizeUrl: 'https://secure.myob.com/oauth2/account/authorize',
    tokenUrl: 'https://secure.myob.com/oauth2/v1/authorize',
    source: NANGO,
  },
  naver: {
    authorizeUrl: 'https://nid.naver.com/oauth2.0/authorize',
    tokenUrl: 'https://nid.naver.com/oauth2.0/token',
    source: GOLANG,
  },
  okta: {
    authorizeUrl: 'https://[subdomain].okta.com/oauth2/v1/authorize',
    tokenUrl: 'https://[subdomain].okta.com/oauth2/v1/token',
    source: NANGO,
  },
  openstreetmap: {
    authorizeUrl: 'https://www.openstreetmap.org/oauth2/authorize',
    tokenUrl: 'https://www.openstreetmap.org/oauth2/token',
    source: GOLANG,
  },
  osu: {
    authorizeUrl: 'https://osu.ppy.sh/oauth/authorize',
    tokenUrl: 'https://osu.ppy.sh/oauth/token',
    source: NANGO,
  },
  paypal: {
    authorizeUrl: 'https://www.paypal.com/webapps/auth/protocol/openidconnect/v1/authorize',
    tokenUrl: 'https://api.paypal.com/v1/identity/openidconnect/tokenservice',
    source: GOLANG,
  },
  procore: {
    authorizeUrl: 'https://login.procore.com/oauth/authorize',
    tokenUrl: 'https://login.procore.com/oauth/token',
    source: NANGO,
  },
  salesforce: {
    authorizeUrl: 'https://login.salesforce.com/services/oauth2/authorize',
    tokenUrl: 'https://login.salesforce.com/services/oauth2/token',
    source: NANGO,
  },
  shopify: {
    authorizeUrl: 'https://[subdomain].myshopify.com/admin/oauth/authorize',
    tokenUrl: 'https://[subdomain].myshopify.com/admin/oauth/access_token',
    source: NANGO,
  },
  square: {
    authorizeUrl: 'https://connect.squareup.com/oauth2/authorize',
    tokenUrl: 'https://connect.squareup.com/oauth2/token',
    source: NANGO,
  },
  stackexchange: {
    authorizeUrl: 'https://stackoverflow.com/oauth',
    tokenUrl: 'https://stackoverflow.com/oauth/access_token/json',
    source: 'https://api.stackexchange.com/docs/authentication',
  },
  stripe: {
    authorizeUrl: 'https://connect.stripe.com/oauth/authorize',
    tokenUrl: 'https://connect.stripe.com/oauth/token',
    source: NANGO,
  },
  timelyapp: {
    authorizeUrl: 'https://api.timelyapp.com/1.1/oauth/authorize',
    tokenUrl: 'https://api.timelyapp.com/1.1/oauth/token',
    source: NANGO,
  },
  todoist: {
    authorizeUrl: 'https://todoist.com/oauth/authorize',
    tokenUrl: 'https://todoist.com/oauth/access_token',
    source: NANGO,
  },
  trustpilot: {
    authorizeUrl: 'https://authenticate.trustpilot.com',
    tokenUrl:
      'https://api.trustpilot.com/v1/oauth/oauth-business-users-for-applications/accesstoken',
    clientAuth: 'basic',
    source: NANGO,
  },
  typeform: {
    authorizeUrl: 'https://api.typeform.com/oauth/authorize',
    tokenUrl: 'https://api.typeform.com/oauth/token',
    source: NANGO,
  },
  wordpress: {
    authorizeUrl: 'https://public-api.wordpress.com/oauth2/authorize',
    tokenUrl: 'https://public-api.wordpress.com/oauth2/token',
    source: NANGO,
  },
  yahoo: {
    authorizeUrl: 'https://api.login.yahoo.com/oauth2/request_auth',
    tokenUrl: 'https://api.login.yahoo.com/oauth2/get_token',
    source: GOLANG,
  },
  yandex: {
    authorizeUrl: 'https://oauth.yandex.com/authorize',
    tokenUrl: 'https://oauth.yandex.com/token',
    source: GOLANG,
  },
  zendesk: {
    authorizeUrl: 'https://[subdomain].zendesk.com/oauth/authorizations/new',
    tokenUrl: 'https://[subdomain].zendesk.com/oauth/tokens',
    source: NANGO,
  },
  zoom: {
    authorizeUrl: 'https://zoom.us/oauth/authorize',
    tokenUrl: 'https://zoom.us/oauth/token',
    source: GOLANG,
  },
};

export const ENDPOINTS: ReadonlyMap<string, KnownEndpoints> = new Map(Object.entries(endpoints));
