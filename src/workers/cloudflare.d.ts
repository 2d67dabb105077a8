/** What the relay uses of Cloudflare's runtime. https://developers.cloudflare.com/durable-objects/api/ */
declare module 'cloudflare:workers' {
  import type { Sql } from '../stores/sqlite/open.ts';

  type DurableObjectId = object;

  /** Every method call is one request to the object. */
  type DurableObjectStub<T> = {
    readonly [Name in keyof T]: T[Name] extends (...args: infer Args) => infer Result
      ? (...args: Args) => Promise<Awaited<Result>>
      : never;
  };

  interface DurableObjectNamespace<T> {
    idFromName(name: string): DurableObjectId;
    get(id: DurableObjectId): DurableObjectStub<T>;
  }

  interface DurableObjectState {
    readonly id: DurableObjectId;
    readonly storage: {
      readonly sql: Sql;
      getAlarm(): Promise<number | null>;
      setAlarm(atMs: number): Promise<void>;
    };
  }

  abstract class DurableObject<Env> {
    protected readonly ctx: DurableObjectState;
    protected readonly env: Env;
    constructor(ctx: DurableObjectState, env: Env);
  }
}
