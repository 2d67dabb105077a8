/** Sessions as in memory, but sealed, and with a row for each. */
import { type RandomBytes, signInIdOf } from '../../relay/secrets.ts';
import type { Session, SessionResult } from '../../relay/session.ts';
import type { Entry, Persistence, SealedKeys } from '../memory/sessions.ts';
import {
  browserStateOf,
  exchangeParametersOf,
  nameOf,
  openResult,
  sealResult,
  sealSession,
} from '../sealed-session.ts';
import { deriveFromBrowserState, deriveFromPollSecret, deriveFromUserCode } from '../sealing.ts';
import type { Rows } from './rows.ts';

const SESSION_ROWS = 'session';

const ROW_VERSION = 1;

interface SessionRow {
  readonly version: number;
  readonly sealed: SealedKeys;
  readonly session: Session;
}

/**
 * As an earlier process, or instance of the object, has kept them, in the order of expiry. Without rows of a
 * newer version, which are there after a rollback: those users start again.
 */
export function readSessions(rows: Rows): Entry[] {
  return rows
    .readAll(SESSION_ROWS)
    .map(({ id, value }) => ({ id, row: value as SessionRow }))
    .filter(({ row }) => row.version <= ROW_VERSION)
    .map(({ id, row: { sealed, session } }) => ({ sealed, session, link: id }))
    .sort((one, other) => one.session.expiresAtMs - other.session.expiresAtMs);
}

/**
 * The states and what they need for their rules are kept as they are. Each text that is
 * secret has its place in them, but is sealed (docs/sealing.md "SQLite").
 */
export function createSealedPersistence(rows: Rows, randomBytes: RandomBytes): Persistence {
  return {
    linkOf: (browserState) => deriveFromBrowserState(browserState).id,
    pollOf: (pollSecret) => deriveFromPollSecret(pollSecret).id,
    codeOf: (userCode) => deriveFromUserCode(userCode).id,

    protect(asked) {
      const { wrappedKey, verifier, deviceName, code } = sealSession(asked, randomBytes);
      const signIn = signInIdOf(asked.browserState);
      const { browserState, deviceKey } = code ?? {};
      return { verifier, deviceName, sealed: { signIn, wrappedKey, browserState, deviceKey } };
    },

    signInOf: ({ sealed }) => sealed?.signIn ?? '',

    browserStateOf: ({ sealed }, userCode) =>
      browserStateOf(deriveFromUserCode(userCode), sealed?.browserState ?? ''),

    exchangeParametersOf({ service, verifier = '', deviceName = '' }, browserState) {
      const link = deriveFromBrowserState(browserState);
      return {
        ...exchangeParametersOf(link, service, verifier),
        deviceName: nameOf(link, deviceName),
      };
    },

    /** An error is not secret. Of tokens or a code, the sealed text takes the place of the access token. */
    protectResult({ sealed }, browserState, result) {
      if ('error' in result) return result;
      const link = deriveFromBrowserState(browserState);
      return { accessToken: sealResult(link, sealed?.deviceKey ?? '', result, randomBytes) };
    },

    resultOf({ link, sealed }, pollSecret, result): SessionResult {
      if ('error' in result || !('accessToken' in result)) return result;
      const poll = deriveFromPollSecret(pollSecret);
      const wrappedKey = sealed?.wrappedKey ?? '';
      return openResult({ pollSecret, poll, sessionId: link, wrappedKey }, result.accessToken);
    },

    write({ link, sealed }, session: Session) {
      const row = { version: ROW_VERSION, sealed, session };
      rows.write(SESSION_ROWS, link, row, session.expiresAtMs);
    },

    remove: ({ link }) => rows.remove(SESSION_ROWS, link),
  };
}
