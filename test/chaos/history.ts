/** What happened to sign-ins while parts failed: recorded by the devices, the users, the provider and by what breaks them. */

/** All times are of one monotonic clock, in milliseconds. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export type What = 'start' | 'link' | 'continue' | 'callback' | 'poll' | 'acknowledge';

/** One request of a device or of a user's browser, once it has ended for its sender. */
export interface RequestEvent extends Span {
  readonly type: 'request';
  readonly id: string;
  readonly signIn: number;
  readonly what: What;
  /** `lost`: no complete response, because the connection failed or the client gave up. */
  readonly status: number | 'lost';
  /** That a callback brings. */
  readonly code?: string;
  /** That a poll received. */
  readonly token?: string;
  /** That a poll received. */
  readonly error?: string;
}

export type HistoryEvent =
  | RequestEvent
  /** A session exists, as far as its device knows. */
  | {
      readonly type: 'started';
      readonly signIn: number;
      readonly atMs: number;
      readonly ack: boolean;
      readonly expiresAtMs: number;
    }
  /** The relay to which the proxy sent a request. */
  | {
      readonly type: 'forwarded';
      readonly id: string;
      readonly relay: number;
      readonly atMs: number;
    }
  /** The provider received a code. */
  | { readonly type: 'exchange'; readonly atMs: number; readonly code: string }
  /** It sent tokens for a code, so long after it received it. */
  | {
      readonly type: 'granted';
      readonly atMs: number;
      readonly code: string;
      readonly token: string;
      readonly afterMs: number;
    }
  /** Something was broken, and mended. `relay`: which one was killed, stopped or drained. */
  | (Span & {
      readonly type: 'fault';
      readonly name: string;
      readonly relay?: number;
      /** Why it did not take place as planned, if so. */
      readonly failed?: string;
    })
  /** A server of Redis was first seen as a primary with data that no other server has confirmed: promoted, or started empty. */
  | { readonly type: 'new primary'; readonly atMs: number; readonly node: number }
  /** Device and user have nothing more to do. */
  | { readonly type: 'ended'; readonly signIn: number; readonly atMs: number };

export const nowMs = () => Math.round(performance.now());

/** In the order in which it was recorded. */
export type History = HistoryEvent[];
