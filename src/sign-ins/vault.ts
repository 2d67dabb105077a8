/**
 * What protects the secrets inside a session. The machine never opens them: a vault does, with the
 * secret that a request brings. The vault in memory leaves them as they are (stores/memory.ts);
 * where others may read the store, the vault seals them (stores/sealed-vault.ts).
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
  /** The result, for the device of this session. Undefined if the device's key does not open. */
  protectResult(session: Session, result: SessionResult): Protected<SessionResult> | undefined;
  /** An error, which the holder of the link can read too. */
  protectError(result: ErrorResult): Protected<SessionResult>;
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
  protect(result: string): string;
  /** Throws if it does not open. */
  open(kept: string): string;
}

export interface Vault {
  /** The members of a new session that depend on its secrets. */
  protect(secrets: NewSecrets): Pick<NewSession, 'ids' | 'delivery' | 'deviceName' | 'keyMaterial'>;
  link(browserState: string): LinkKey;
  poll(pollSecret: string): PollKey;
  code(userCode: string): CodeKey;
  /** `key`: the token, and where it is sent. */
  refresh(key: string): RefreshKey;
}

export const EXCHANGE_FAILED = { error: 'exchange_failed' } as const;
