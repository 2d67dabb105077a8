/**
 * Which object a request belongs to. All secrets of a session have one tag (relay/secrets.ts),
 * which is the number of its object. A start goes by the client's address, so that one object
 * has the rate limit of that address; a refresh by its token, so that one object sends it.
 */
import { parseTokenParameters } from '../http/endpoints/device-grant.ts';
import { textOf } from '../http/endpoints/refresh.ts';
import { parseUserCode } from '../http/links.ts';
import { parseMembers } from '../http/request.ts';
import { isCapability, tagOf } from '../relay/secrets.ts';

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

/** Undefined for a start, and where any object can answer. */
function findSecret({ method, url, contentType, body }: RoutedRequest): string | undefined {
  const { pathname, searchParams } = new URL(url);
  if (pathname.endsWith('/auth/start')) return undefined;
  if (pathname.endsWith('/auth/result')) return capability(searchParams.get('session'));
  if (/\/auth\/[^/]+(\/callback)?$/.test(pathname)) return capability(searchParams.get('state'));
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
