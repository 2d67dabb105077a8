/**
 * The vault of a store that others may read. It seals each secret of a session, so that only a
 * request with the link, the code or the poll secret can open it. docs/sealing.md.
 */
import type { RandomBytes } from '../sign-ins/secrets.ts';
import type { Delivery, Protected, Session, SessionResult } from '../sign-ins/session.ts';
import { EXCHANGE_FAILED, type Vault } from '../sign-ins/vault.ts';
import {
  type Derived,
  derive,
  deviceKeyOf,
  isSealedToDevice,
  seal,
  sealToDevice,
  unseal,
  unsealAsDevice,
} from './sealing.ts';

/* The authenticated text of each sealed message, so that none can replace another. */
const pointerContext = (poll: Derived, linkId: string) => `pointer ${poll.id} ${linkId}`;
const codeContext = (code: Derived) => `code ${code.id}`;
const deliveryContext = (linkId: string, service: string) => `delivery ${linkId} ${service}`;
const nameContext = (linkId: string) => `device name ${linkId}`;
const keyContext = (linkId: string) => `device key ${linkId}`;
const resultContext = (linkId: string) => `result ${linkId}`;
const refreshContext = (id: string) => `refresh ${id}`;

/** The key material of a session, each member sealed. */
interface SealedKeys {
  /** The session key, under the poll secret's key. */
  readonly sessionKey: string;
  /** The key to which the result is sealed, under the session key. Only with a user code. */
  readonly deviceKey?: string;
  /** The browser state, under the code's key. Only with a user code. */
  readonly browserState?: string;
}

export function createSealedVault(randomBytes: RandomBytes): Vault {
  return {
    protect({ browserState, pollSecret, userCode, service, delivery, deviceName }) {
      const link = derive(browserState, 'browser state');
      const poll = derive(pollSecret, 'poll secret');
      const code = userCode === undefined ? undefined : derive(userCode, 'user code');
      const sealed = (context: string, text: string | Buffer) =>
        seal(link.key, context, text, randomBytes);
      const keys: SealedKeys = {
        sessionKey: seal(poll.key, pointerContext(poll, link.id), link.key, randomBytes),
        ...(code && {
          deviceKey: sealed(keyContext(link.id), deviceKeyOf(pollSecret)),
          browserState: seal(code.key, codeContext(code), browserState, randomBytes),
        }),
      };
      const sealedName = deviceName && sealed(nameContext(link.id), deviceName);
      return {
        ids: { link: link.id, poll: poll.id, code: code?.id },
        delivery: asProtected(sealed(deliveryContext(link.id, service), JSON.stringify(delivery))),
        deviceName: sealedName === undefined ? undefined : asProtected(sealedName),
        keyMaterial: asProtected(keys),
      };
    },

    link(browserState) {
      const link = derive(browserState, 'browser state');
      const open = (context: string, kept: unknown) => tryToUnseal(link.key, context, kept);
      const sealed = (result: SessionResult): Protected<SessionResult> =>
        asProtected(seal(link.key, resultContext(link.id), JSON.stringify(result), randomBytes));
      return {
        id: link.id,
        deliveryOf({ service, delivery }) {
          const text = open(deliveryContext(link.id, service), delivery);
          return text && (JSON.parse(text.toString()) as Delivery);
        },
        deviceNameOf: ({ deviceName }) =>
          deviceName && open(nameContext(link.id), deviceName)?.toString(),
        protectResult(session, result) {
          const { deviceKey: sealedKey } = keysOf(session);
          if (session.ids.code === undefined) return sealed(result);
          const deviceKey = open(keyContext(link.id), sealedKey);
          if (deviceKey === undefined) return undefined;
          const to = { sessionKey: link.key, deviceKey };
          const text = JSON.stringify(result);
          return asProtected(sealToDevice(to, resultContext(link.id), text, randomBytes));
        },
        protectError: sealed,
      };
    },

    poll(pollSecret) {
      const poll = derive(pollSecret, 'poll secret');
      return {
        id: poll.id,
        resultOf(session) {
          const { link } = session.ids;
          const { sessionKey: wrapped } = keysOf(session);
          const sessionKey = tryToUnseal(poll.key, pointerContext(poll, link), wrapped);
          const sealed: unknown = session.result;
          if (sessionKey === undefined || typeof sealed !== 'string') return EXCHANGE_FAILED;
          const context = resultContext(link);
          const text = isSealedToDevice(sealed)
            ? tryTo(() => unsealAsDevice({ sessionKey, pollSecret }, context, sealed))
            : tryToUnseal(sessionKey, context, sealed);
          return text === undefined
            ? EXCHANGE_FAILED
            : (JSON.parse(text.toString()) as SessionResult);
        },
      };
    },

    code(userCode) {
      const code = derive(userCode, 'user code');
      return {
        id: code.id,
        browserStateOf: (session) =>
          tryToUnseal(code.key, codeContext(code), keysOf(session).browserState)?.toString(),
      };
    },

    refresh(text) {
      const { id, key } = derive(text, 'refresh');
      return {
        id,
        protect: (result) => seal(key, refreshContext(id), result, randomBytes),
        open: (sealed) => unseal(key, refreshContext(id), sealed).toString(),
      };
    },
  };
}

const asProtected = <Value>(sealed: unknown) => sealed as unknown as Protected<Value>;

/** Anybody who can write to the store may have put anything there. */
const keysOf = ({ keyMaterial }: Session) => Object(keyMaterial) as Partial<SealedKeys>;

/** Undefined for anything that was not sealed with this key for this context. */
const tryToUnseal = (key: Buffer, context: string, sealed: unknown) =>
  typeof sealed === 'string' ? tryTo(() => unseal(key, context, sealed)) : undefined;

function tryTo<Value>(open: () => Value): Value | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}
