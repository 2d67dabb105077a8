/** Codes and tokens of the dev provider. RFC 6749 §4.1.3, §6, RFC 7009 §2. */
import { Buffer } from 'node:buffer';
import { hash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { json, readForm, respond } from './http.ts';
import { CLIENT_ID } from './relay.ts';
import { type Plan, parseScenario, type ScenarioName } from './scenarios.ts';

interface DevGrant {
  readonly user: string;
  readonly plan: Plan;
  readonly challenge: string;
  readonly redirectUri: string;
}

const TOKEN_SECONDS = 3_600;
/** Codes and refresh tokens that are remembered. The oldest is forgotten. */
const MAX_REMEMBERED = 1_000;
/** How many refreshes `refresh-503` refuses. */
const REFRESHES_REFUSED = 2;

export type TokenIssuer = ReturnType<typeof createTokenIssuer>;

export function createTokenIssuer(say: (text: string) => void) {
  const grants = new Map<string, DevGrant>();
  /** Refresh token -> how often it was used, with `refresh-rotates` and `refresh-503`. */
  const refreshes = new Map<string, number>();
  const revoked = new Map<string, true>();

  function refresh(token: string): Response {
    const read = readToken('refresh', token);
    if (read === undefined || revoked.has(token)) return tokenError('invalid_grant');
    const { user, scenario } = read;
    const times = refreshes.get(token) ?? 0;
    if (scenario === 'refresh-refused') return tokenError('invalid_grant');
    if (scenario === 'refresh-503' && times < REFRESHES_REFUSED) {
      remember(refreshes, token, times + 1);
      say(`a refresh got 503 from the provider, ${times + 1} of ${REFRESHES_REFUSED}`);
      return tokenError('temporarily_unavailable', 503);
    }
    if (scenario !== 'refresh-rotates') {
      say('a refresh brought a new access token');
      return tokens(user, scenario, undefined);
    }
    if (times > 0) {
      say('a refresh used an old refresh token: the app must keep the new one');
      return tokenError('invalid_grant');
    }
    remember(refreshes, token, 1);
    say('a refresh brought a new access token and a new refresh token');
    return tokens(user, scenario, createToken('refresh', user, scenario));
  }

  return {
    createCode(grant: DevGrant): string {
      const code = `dev-code-${randomText()}`;
      remember(grants, code, grant);
      return code;
    },

    async issue(request: Request): Promise<Response> {
      const form = await readClientForm(request);
      if (form instanceof Response) return form;
      const grantType = form.get('grant_type');
      if (grantType === 'authorization_code') return exchange(grants, form);
      if (grantType === 'refresh_token') return refresh(form.get('refresh_token') ?? '');
      return tokenError('unsupported_grant_type');
    },

    async revoke(request: Request): Promise<Response> {
      const form = await readClientForm(request);
      if (form instanceof Response) return form;
      const token = form.get('token') ?? '';
      const kind = KINDS.find((each) => readToken(each, token) !== undefined);
      if (kind !== undefined && !revoked.has(token)) {
        remember(revoked, token, true);
        say(`the app signed out: its ${kind} token was revoked`);
      }
      return respond(null);
    },

    userinfo({ headers }: Request): Response {
      const token = /^Bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
      const read = readToken('access', token);
      const isExpired = read === undefined || read.atMs + TOKEN_SECONDS * 1_000 < Date.now();
      if (isExpired || revoked.has(token)) {
        const header = { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
        return json({ error: 'invalid_token' }, 401, header);
      }
      return json({ sub: read.user, name: read.user });
    },
  };
}

async function exchange(grants: Map<string, DevGrant>, form: URLSearchParams): Promise<Response> {
  const code = form.get('code') ?? '';
  const grant = grants.get(code);
  grants.delete(code);
  const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
  const isSame = grant?.challenge === challenge && grant.redirectUri === form.get('redirect_uri');
  if (grant === undefined || !isSame) return tokenError('invalid_grant');
  const { plan, user } = grant;
  if (plan.scenario === 'exchange-fails') return tokenError('server_error', 500);
  if (plan.scenario === 'slow') await pause(plan.seconds * 500);
  return tokens(user, plan.scenario, createToken('refresh', user, plan.scenario));
}

/** The form of the dev relay, or the error that another client gets. */
async function readClientForm(request: Request): Promise<URLSearchParams | Response> {
  if (request.method !== 'POST') return tokenError('invalid_request');
  const form = await readForm(request);
  return form.get('client_id') === CLIENT_ID ? form : tokenError('invalid_client', 401);
}

const tokenError = (error: string, status = 400) => json({ error }, status);

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}

const randomText = () => randomBytes(18).toString('base64url');

function tokens(user: string, scenario: ScenarioName, refreshToken: string | undefined): Response {
  return json({
    access_token: createToken('access', user, scenario),
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    scope: 'profile',
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  });
}

/**
 * A token contains its user and its scenario, so that it works after a restart of the dev
 * relay. Anyone could make one.
 */
function createToken(kind: 'access' | 'refresh', user: string, scenario: ScenarioName): string {
  const name = Buffer.from(user.slice(0, 40)).toString('base64url');
  return ['dev', kind, scenario, name, Date.now().toString(36), randomText()].join('.');
}

const KINDS = ['access', 'refresh'] as const;

function readToken(kind: 'access' | 'refresh', token: string) {
  const [dev, tokenKind, scenarioName, name = '', at = ''] = token.split('.');
  const scenario = parseScenario(scenarioName);
  if (dev !== 'dev' || tokenKind !== kind || scenario === undefined) return undefined;
  return {
    scenario,
    user: Buffer.from(name, 'base64url').toString(),
    atMs: Number.parseInt(at, 36),
  };
}
