/**
 * Which object a request belongs to. All secrets of a session have one tag, which is the number
 * of its object. A start goes by the client's address, so that one object
 * has the rate limit of that address; a refresh by its token, so that one object sends it.
 */
import { hash } from 'node:crypto';
import { parseTokenParameters } from '../http/endpoints/device-grant.ts';
import { textOf } from '../http/endpoints/refresh.ts';
import { parseMembers } from '../http/request.ts';
import {
  createDrawSecrets,
  type DrawSecrets,
  isCapability,
  parseUserCode,
  type RandomBytes,
} from '../relay/secrets.ts';

export interface RoutedRequest {
  readonly method: string;
  readonly url: string;
  readonly contentType: string | null;
  /** Empty without a body. */
  readonly body: string;
  /** One bucket of the rate limits. */
  readonly address: string;
}

export function tagOfRequest(request: RoutedRequest, tags: number): number {
  if (tags === 1) return 0;
  return tagOf(findSecret(request) ?? request.address, tags);
}

/** Which of `tags` tags a secret has: a few bits of a digest that is used for nothing else. docs/sealing.md "Tags". */
export function tagOf(secret: string, tags: number): number {
  return tags === 1 ? 0 : hash('sha256', `tag ${secret}`, 'buffer').readUInt32BE() % tags;
}

/** Draws each secret until it has this tag. Each by itself stays as random as any other. */
export function createTaggedSecrets(
  randomBytes: RandomBytes,
  tags: number,
  tag: number,
): DrawSecrets {
  const drawAny = createDrawSecrets(randomBytes);
  // An object that a deployment with fewer objects has left: no secret would ever fit.
  if (tag === -1) return drawAny;
  const hasTag = (secret: string | undefined) =>
    secret === undefined || tagOf(secret, tags) === tag;
  return (withUserCode) => {
    let { browserState, pollSecret, userCode } = drawAny(withUserCode);
    while (!hasTag(browserState)) ({ browserState } = drawAny(false));
    while (!hasTag(pollSecret)) ({ pollSecret } = drawAny(false));
    while (!hasTag(userCode)) ({ userCode } = drawAny(true));
    return { browserState, pollSecret, userCode };
  };
}

/** Undefined for a start, and where any object can answer. */
function findSecret({ method, url, contentType, body }: RoutedRequest): string | undefined {
  const { pathname, searchParams } = new URL(url);
  if (pathname.endsWith('/auth/start')) return undefined;
  if (pathname.endsWith('/auth/result')) return capability(searchParams.get('session'));
  if (/\/(auth\/[^/]+|open)(\/callback)?$/.test(pathname))
    return capability(searchParams.get('state'));
  const [, typed] = /\/L\/([^/]+)$/i.exec(pathname) ?? [];
  if (typed !== undefined) return parseUserCode(typed);
  const [, picture] = /\/qr\/([^/]+)\.[a-z]+$/.exec(pathname) ?? [];
  if (picture !== undefined) return capability(picture);
  if (method !== 'POST') return undefined;
  try {
    if (pathname.endsWith('/refresh')) return textOf(parseMembers(body).refreshToken);
    if (!/\/oauth2\/[^/]+\/token$/.test(pathname)) return undefined;
    const parameters = parseTokenParameters(body, contentType, ['device_code', 'refresh_token']);
    return capability(parameters?.get('device_code')) ?? parameters?.get('refresh_token');
  } catch {
    // No JSON: any object refuses it.
    return undefined;
  }
}

function capability(text: string | null | undefined): string | undefined {
  return text && isCapability(text) ? text : undefined;
}
