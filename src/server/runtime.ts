/** What the relay needs of the program that runs it. Implemented by runtime-bun.ts and runtime-node.ts. */
import type { HandleRequest } from '../http/app.ts';
import type { Fetch } from '../providers/config.ts';

export interface Runtime {
  /** Its name and version. */
  readonly name: string;
  /** What is wrong with this version, for the operator. */
  readonly problem?: string;
  /** Why another runtime is better, for the operator. */
  readonly hint?: string;
  /** Sends requests to providers. Checks certificates whatever the environment says. */
  readonly fetch: Fetch;
  readonly fetchesAtOnce?: number;
  /** Rejects with the code of the system call that failed. */
  listen(options: ListenOptions): Promise<Listener>;
}

export interface ListenOptions {
  readonly hostname: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly handle: HandleRequest;
  /** Longer than a poll is held, and than the 60 s after which balancers give up on an idle connection. */
  readonly idleSeconds: number;
}

export interface Listener {
  readonly url: string;
  /** Accepts no more connections. Resolves once every request has its response. */
  stop(): Promise<unknown>;
  /** Closes all connections, even those with a request in progress. */
  cut(): void;
}
