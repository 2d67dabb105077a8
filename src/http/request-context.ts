/**
 * What a handler is given. Hono's context has all of it; so has a PlainContext,
 * at a tenth of the objects, for the door that nearly every request goes through.
 */

import { parseParameters } from './parameters.ts';

export interface Bindings {
  /** The socket's peer, as the runtime tells it; undefined when it cannot. */
  readonly findPeerAddress: () => string | undefined;
}

/** What Hono's context carries for us. */
export interface Env {
  Bindings: Bindings;
}

export interface RequestView {
  readonly raw: Request;
  readonly method: string;
  /** As it was sent, without the base path. */
  readonly path: string;
  header(name: string): string | undefined;
  /** The first of that name, decoded. */
  query(name: string): string | undefined;
}

export interface RequestContext {
  readonly req: RequestView;
  readonly env: Bindings;
}

export class PlainContext implements RequestContext {
  readonly req: RequestView;

  constructor(
    request: Request,
    path: string,
    readonly env: Bindings,
  ) {
    this.req = new PlainRequest(request, path);
  }
}

class PlainRequest implements RequestView {
  #query: URLSearchParams | undefined;

  constructor(
    readonly raw: Request,
    readonly path: string,
  ) {}

  get method(): string {
    return this.raw.method;
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }

  query(name: string): string | undefined {
    this.#query ??= queryOf(this.raw.url);
    return this.#query.get(name) ?? undefined;
  }
}

/** Of an address that may have a fragment, which no client should send. */
export function queryOf(url: string): URLSearchParams {
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  // It would leave out a question mark of the query's own.
  return parseParameters(query.startsWith('?') ? `&${query}` : query);
}
