/** What we use of `oidc-provider`, which ships no types. Its own tests hold it to the standard, not these. */

/** The package's entry warns that its author does not test on Bun; our tests do, so we import past it. */
declare module 'oidc-provider/lib/provider.js' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface InteractionDetails {
    readonly uid: string;
    readonly params: { readonly client_id: string; readonly scope?: string };
    readonly grantId?: string;
    readonly session?: { readonly accountId: string };
  }

  export interface InteractionResult {
    readonly login?: { readonly accountId: string };
    readonly consent?: { readonly grantId: string };
    readonly error?: string;
    readonly error_description?: string;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  /** Koa's context, as far as the events hand it to us. */
  export interface ProviderContext {
    readonly body: unknown;
    readonly oidc: { readonly params?: Readonly<Record<string, unknown>> };
  }

  export class Provider extends EventEmitter {
    constructor(issuer: string, configuration: object);
    readonly Grant: {
      new (of: { accountId: string; clientId: string }): Grant;
      find(grantId: string): Promise<Grant | undefined>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<InteractionDetails>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: InteractionResult,
    ): Promise<void>;
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  /** In memory, one store a provider; the package's default of the same is preceded by a warning. */
  export function createMemoryAdapter(clockToleranceSeconds?: number): (model: string) => object;
}
