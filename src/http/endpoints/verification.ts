/** What users open themselves: the form for a user code, short links, and unknown paths. docs/user-pages.md. */
import { codeFormOf } from '../../pages/pages.ts';
import { formatUserCode, parseUserCode } from '../../sign-ins/secrets.ts';
import type { Handler } from '../app.ts';
import type { PageDependencies } from '../dependencies.ts';
import {
  isBackgroundRequest,
  MAX_FORM_BYTES,
  parseParameters,
  type RelayRequest,
  readBody,
  shortLinkOf,
} from '../request.ts';
import { type PageResponses, redirectResponse, refuse } from '../responses.ts';
import { handleChoice, readChoice } from './confirmation.ts';

/** `GET /link`. A code in the query counts as typed. */
export function createCodeForm(dependencies: PageDependencies): Handler {
  const { respond, pagesFor } = dependencies.pages;
  return (request) => {
    const typed = readQueryCode(request);
    return typed === undefined
      ? respond(200, pagesFor(request).codeForm, 'code')
      : respondToTypedCode(dependencies, request, typed);
  };
}

const readQueryCode = (request: RelayRequest) =>
  request.query('code') ?? request.query('user_code');

/** `POST /link`. Needs no rate limit, because it looks nothing up. The short link to which it redirects has one. */
export function createSubmitCode(dependencies: PageDependencies): Handler {
  return async (request) => {
    const { text } = await readBody(request.raw, MAX_FORM_BYTES, dependencies.clock);
    const typed = parseParameters(text).get('code') ?? '';
    return respondToTypedCode(dependencies, request, typed);
  };
}

function respondToTypedCode(
  { pages, baseUrl, basePath }: PageDependencies,
  request: RelayRequest,
  typed: string,
): Response {
  const isPost = request.method === 'POST';
  const status = isPost ? 303 : 302;
  const userCode = parseUserCode(codeIn(typed, new URL(baseUrl).host));
  // Only the path, because the browser may use another host name of the relay.
  if (userCode !== undefined) return redirectResponse(shortLinkOf(basePath, userCode), status);
  // A browser that goes back to the response to a POST shows an error of its own.
  if (isPost) {
    const query = new URLSearchParams({ code: typed });
    return redirectResponse(`${codeFormOf(basePath)}?${query}`, status);
  }
  return pages.respond(400, pages.pagesFor(request).codeIncomplete(shorten(typed)), 'code');
}

/** The code in a pasted link of this host. Any other text stays as it is: no foreign link has a code. */
function codeIn(typed: string, host: string): string {
  const address = typed.trim().replace(/^(?!https?:)/i, 'https://');
  if (!URL.canParse(address)) return typed;
  const { host: pastedHost, pathname, searchParams } = new URL(address);
  if (pastedHost !== host) return typed;
  const code = searchParams.get('code') ?? searchParams.get('user_code');
  return code ?? decode(pathname.split('/').findLast(Boolean) ?? '');
}

/** `/L/XXXX-XXXX`, by GET and POST. */
export function createShortLink(dependencies: PageDependencies): Handler {
  const { basePath, admission, signIns, pages } = dependencies;
  return async (request) => {
    const typed = decode(request.parameter);
    const userCode = parseUserCode(typed);
    if (userCode === undefined) return respondWithUnknownCode(pages, request, typed);
    // Each code has one address, so another spelling is redirected.
    if (request.path !== shortLinkOf('', userCode)) {
      const location = shortLinkOf(basePath, userCode);
      return redirectResponse(location, request.method === 'GET' ? 302 : 303);
    }
    // Otherwise any page could use up the limit of its visitors' address.
    if (isBackgroundRequest(request)) return refuse('origin_not_allowed');
    const choice = await readChoice(dependencies, request);
    // The limit comes before any lookup, so that a refusal does not reveal whether the code exists.
    const admitted = await admission.admitToPair(request, 'code');
    if (!admitted.ok) return admitted;
    const found = await signIns.find({ userCode });
    if (found === undefined) {
      return respondWithUnknownCode(pages, request, formatUserCode(userCode));
    }
    // Only wrong codes count.
    await admitted.refund();
    return handleChoice(dependencies, request, choice, found, userCode);
  };
}

/** Does not say whether the code is unknown or expired. */
function respondWithUnknownCode(
  { respond, pagesFor }: PageResponses,
  request: RelayRequest,
  typed: string,
): Response {
  return respond(404, pagesFor(request).codeUnknown(shorten(typed)), 'code');
}

/** Any unknown path. A mistyped code or a mistyped `/link` is redirected. */
export function createNotFound(dependencies: PageDependencies) {
  const { pages, basePath } = dependencies;
  return (request: RelayRequest): Response => {
    const { path } = request;
    const local = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
    const [, isForm, rest] = MISTYPED.exec(local) ?? [];
    const userCode = parseUserCode(decode(rest ?? ''));
    if (userCode !== undefined) return redirectResponse(shortLinkOf(basePath, userCode));
    if (isForm === undefined) return pages.respond(404, pages.pagesFor(request).notFound, 'code');
    const typed = readQueryCode(request);
    return typed
      ? respondToTypedCode(dependencies, request, typed)
      : redirectResponse(codeFormOf(basePath));
  };
}

/** `/LINK`, `/link/`, `/L`, `/link/wdjb-mjht`, `/WDJBMJHT`: what may be meant for the form or for a code. */
const MISTYPED = /^\/(?:(l|link)(?![^/])\/*)?(?:([^/]+)\/*)?$/i;

/** What was typed stays in the form. A URL may be longer than a form may. */
const shorten = (typed: string) => typed.slice(0, MAX_FORM_BYTES);

/** A path segment as the user typed it. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
