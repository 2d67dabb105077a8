/**
 * The secrets inside a session. The machine never opens them. A vault does, with the secret that a
 * request brings. In memory a vault keeps them as they are (stores/memory.ts); where others may
 * read the store it seals them (stores/sealed-vault.ts).
 */
import type { SessionSecrets } from './secrets.ts';
import type {
  Completed,
  Delivered,
  Delivery,
  ErrorResult,
  NewSession,
  Pending,
  Protected,
  Session,
  SessionResult,
} from './session.ts';

/** The secrets of a new session. */
export interface NewSecrets extends SessionSecrets {
  readonly service: string;
  readonly delivery: Delivery;
  readonly deviceName: string | undefined;
}

/** What the holder of a link may see. Undefined if it does not open, because the store was tampered with. */
export interface LinkKey {
  readonly id: string;
  deliveryOf(pending: Pending): Delivery | undefined;
  deviceNameOf(pending: Pending): string | undefined;
  /** The result for the device of this session. Undefined if its key does not open. */
  keepResult(session: Session, result: SessionResult): Protected<SessionResult> | undefined;
  /** An error can be read with the poll secret or with the link. */
  keepError(result: ErrorResult): Protected<SessionResult>;
}

/** What the holder of a poll secret may see. */
export interface PollKey {
  readonly id: string;
  /** `exchange_failed` if there is none, or if it does not open. */
  resultOf(session: Completed | Delivered): SessionResult;
}

/** What the holder of a user code may see. */
export interface CodeKey {
  readonly id: string;
  /** Undefined if it does not open. */
  browserStateOf(session: Session): string | undefined;
}

/** What the holder of a refresh token may see: the result of its refresh. */
export interface RefreshKey {
  readonly id: string;
  keep(result: string): string;
  /** Throws if it does not open. */
  open(kept: string): string;
}

export interface Vault {
  /** Makes the members of a new session that hold secrets. */
  keep(secrets: NewSecrets): Pick<NewSession, 'ids' | 'delivery' | 'deviceName' | 'keyMaterial'>;
  link(browserState: string): LinkKey;
  poll(pollSecret: string): PollKey;
  code(userCode: string): CodeKey;
  /** `key`: the token, and where it is sent. */
  refresh(key: string): RefreshKey;
}

export const EXCHANGE_FAILED = { error: 'exchange_failed' } as const;
