/** Codes and tokens of the dev provider. RFC 6749 §4.1.3, §6, RFC 7009 §2. */
import { Buffer } from 'node:buffer';
import { hash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type EndingName, findEnding } from './endings.ts';
import { say } from './output.ts';
import { CLIENT_ID } from './relay.ts';
import type { DevSignIns } from './sign-ins.ts';

const TOKEN_SECONDS = 3_600;
/** How many refreshes `refresh-503` refuses. */
const REFRESHES_REFUSED = 2;

export class TokenIssuer {
  /** Refresh token -> how often it was used. */
  readonly #uses = new Map<string, number>();
  readonly #revoked = new Set<string>();

  constructor(private readonly signIns: DevSignIns) {}

  async issue(form: URLSearchParams): Promise<Response> {
    if (form.get('client_id') !== CLIENT_ID) return tokenError('invalid_client', 401);
    const grantType = form.get('grant_type');
    if (grantType === 'authorization_code') return this.#exchange(form);
    return grantType === 'refresh_token'
      ? this.#refresh(form.get('refresh_token') ?? '')
      : tokenError('unsupported_grant_type');
  }

  async #exchange(form: URLSearchParams): Promise<Response> {
    const code = form.get('code');
    const signIn = this.signIns.all.findLast(({ grant }) => grant?.code === code);
    const { plan, grant } = signIn ?? {};
    if (signIn !== undefined) signIn.grant = undefined;
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    if (
      plan === undefined ||
      grant?.challenge !== challenge ||
      grant.redirectUri !== form.get('redirect_uri')
    ) {
      return tokenError('invalid_grant');
    }
    if (plan.ending === 'exchange-fails') return tokenError('server_error', 500);
    if (plan.ending === 'slow') await pause(plan.seconds * 500);
    return tokens(grant.user, plan.ending, true);
  }

  #refresh(token: string): Response {
    const read = this.#read(token);
    if (read?.kind !== 'refresh' || read.ending === 'refresh-refused') {
      return tokenError('invalid_grant');
    }
    const { user, ending } = read;
    const uses = (this.#uses.get(token) ?? 0) + 1;
    this.#uses.set(token, uses);
    if (ending === 'refresh-503' && uses <= REFRESHES_REFUSED) {
      say(`a refresh got 503 from the provider, ${uses} of ${REFRESHES_REFUSED}`);
      return tokenError('temporarily_unavailable', 503);
    }
    const rotates = ending === 'refresh-rotates';
    if (rotates && uses > 1) {
      say('a refresh used an old refresh token: the app must keep the new one');
      return tokenError('invalid_grant');
    }
    say(`a refresh brought a new access token${rotates ? ' and a new refresh token' : ''}`);
    return tokens(user, ending, rotates);
  }

  revoke(form: URLSearchParams): Response {
    if (form.get('client_id') !== CLIENT_ID) return tokenError('invalid_client', 401);
    const token = form.get('token') ?? '';
    const read = this.#read(token);
    if (read !== undefined) {
      this.#revoked.add(token);
      say(`the app signed out: its ${read.kind} token was revoked`);
    }
    return new Response();
  }

  /** The user whose access token this is. Undefined if it is not one, or was revoked. */
  findUser(authorization = ''): string | undefined {
    const [, token = ''] = /^Bearer (.+)$/i.exec(authorization) ?? [];
    const read = this.#read(token);
    return read?.kind === 'access' ? read.user : undefined;
  }

  /** Undefined if it is not a token, or was revoked. */
  #read(token: string) {
    const [dev, kind, endingName, name = ''] = token.split('.');
    const ending = findEnding(endingName);
    if (dev !== 'dev' || ending === undefined || this.#revoked.has(token)) return undefined;
    return { kind, ending, user: Buffer.from(name, 'base64url').toString() };
  }
}

const tokenError = (error: string, status = 400) => Response.json({ error }, { status });

function tokens(user: string, ending: EndingName, withRefreshToken: boolean): Response {
  return Response.json({
    access_token: createToken('access', user, ending),
    token_type: 'Bearer',
    expires_in: TOKEN_SECONDS,
    scope: 'profile',
    ...(withRefreshToken && { refresh_token: createToken('refresh', user, ending) }),
  });
}

/**
 * A token contains its user and its ending, so that it works after a restart of the dev
 * relay. Anyone could make one.
 */
function createToken(kind: 'access' | 'refresh', user: string, ending: EndingName): string {
  const name = Buffer.from(user.slice(0, 40)).toString('base64url');
  const random = randomBytes(18).toString('base64url');
  return ['dev', kind, ending, name, random].join('.');
}
