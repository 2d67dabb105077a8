/**
 * What a user's browser does with a link or a code: pages, the redirect to the provider,
 * the callback and its result.
 */
import { EXCHANGE_LEASE_MS } from '../../limits.ts';
import { outcomeOfResult } from '../../relay/session.ts';
import type { SessionStore } from '../../relay/store.ts';
import { browserStateOf, exchangeParametersOf, nameOf, sealResult } from '../sealed-session.ts';
import { type Derived, deriveFromBrowserState, deriveFromUserCode } from '../sealing.ts';
import { createCallId } from './commands.ts';
import type { OwnLeases, SealedResult } from './own-leases.ts';
import { foundOf, type VerbParts } from './records.ts';
import { SCRIPTS, STATE } from './scripts.ts';

export type BrowserVerbs = Pick<
  SessionStore,
  'authorize' | 'getSession' | 'fail' | 'lease' | 'complete'
>;

export function createBrowserVerbs(options: VerbParts, ownLeases: OwnLeases): BrowserVerbs {
  const { commands, keys, randomBytes, observer } = options;
  const { run } = commands;

  /** The session of the link, and its keys in the store. */
  function linkKeysOf(browserState: string): LinkKeys {
    const link = deriveFromBrowserState(browserState);
    return { link, recordKey: keys.session(link.id), outcomeKey: keys.outcome(link.id) };
  }

  return {
    async authorize(service, browserState) {
      const { link, recordKey } = linkKeysOf(browserState);
      const reply = await run(SCRIPTS.authorize, [recordKey], [service, keys.channelPrefix]);
      if (!Array.isArray(reply)) return undefined;
      const [sealed, isFirst] = reply as [string, number];
      if (isFirst === 1) observer.current.opened(service);
      return exchangeParametersOf(link, service, sealed);
    },

    async getSession(by) {
      const browserState =
        'browserState' in by ? by.browserState : await findByCode(options, by.userCode);
      if (browserState === undefined) return undefined;
      const { link, recordKey, outcomeKey } = linkKeysOf(browserState);
      return foundOf(browserState, link, await run(SCRIPTS.find, [recordKey, outcomeKey], []));
    },

    /** Repeated for a while. If it is unknown after that, the user may reload, and sees the outcome. */
    async fail(service, browserState, result) {
      const place = linkKeysOf(browserState);
      // An error is not secret, so it is sealed only under the session key.
      const sealed = sealResult(place.link, '', result, randomBytes);
      const sealedResult = { sealed, outcome: outcomeOfResult(result) };
      return storeResult(options, place, service, sealedResult, {
        states: STATE.pending,
        insist: false,
      });
    },

    /**
     * Repeated for a while under one id. If it is unknown after that, the code is not
     * exchanged: either the user can reload the page, or the lease runs out, and the device learns it.
     * A failover may lose a lease, and a completion: a process that remembers its
     * lease takes no second one, and stores the result once more.
     */
    async lease(service, browserState) {
      const place = linkKeysOf(browserState);
      const { link, recordKey, outcomeKey } = place;
      const own = ownLeases.get(service, link.id);
      if (own !== undefined) {
        if (own.result !== undefined) {
          await storeResult(options, place, service, own.result, {
            states: FROM_OWN_LEASE,
            insist: false,
          });
        }
        return undefined;
      }
      const id = createCallId(randomBytes);
      const reply = await commands.repeat({ insist: false }, () =>
        run(SCRIPTS.lease, [recordKey, outcomeKey], [service, EXCHANGE_LEASE_MS, id]),
      );
      if (!Array.isArray(reply)) return undefined;
      const [sealedVerifier = '', sealedDeviceKey = '', sealedName = ''] = reply as string[];
      ownLeases.add(service, link.id, sealedDeviceKey);
      const exchange = exchangeParametersOf(link, service, sealedVerifier);
      return { ...exchange, deviceName: nameOf(link, sealedName) };
    },

    /** Repeated while the store is unreachable; a repetition of a success succeeds. */
    async complete(service, browserState, result) {
      const place = linkKeysOf(browserState);
      const { link, recordKey } = place;
      const own = ownLeases.get(service, link.id);
      // Without it, another instance took the lease.
      const sealedDeviceKey =
        own?.sealedDeviceKey ??
        (await commands.repeat({ insist: true }, () =>
          run(SCRIPTS.deviceKey, [recordKey], [service]),
        ));
      if (typeof sealedDeviceKey !== 'string') return false;
      const sealed = sealResult(link, sealedDeviceKey, result, randomBytes);
      const sealedResult = { sealed, outcome: outcomeOfResult(result) };
      if (own !== undefined) own.result = sealedResult;
      // Only this process has the tokens.
      return storeResult(options, place, service, sealedResult, {
        states: own === undefined ? STATE.exchanging : FROM_OWN_LEASE,
        insist: true,
      });
    },
  };
}

/** Pending: a failover has lost the lease. */
const FROM_OWN_LEASE = STATE.exchanging + STATE.pending;

/** A session, found by its link. */
interface LinkKeys {
  readonly link: Derived;
  readonly recordKey: string;
  readonly outcomeKey: string;
}

/** The browser state of the code's session. */
async function findByCode(
  { commands, keys }: VerbParts,
  userCode: string,
): Promise<string | undefined> {
  const code = deriveFromUserCode(userCode);
  const value = await commands.get(keys.code(code.id));
  if (value === null) return undefined;
  // Without the time at which it expires.
  const [, sealed = ''] = value.split('.');
  return browserStateOf(code, sealed);
}

/** `states`: those in which the session accepts it. */
async function storeResult(
  { commands, keys, instance, localPolls }: VerbParts,
  { recordKey, outcomeKey }: LinkKeys,
  service: string,
  { sealed, outcome }: SealedResult,
  { states, insist }: { states: string; insist: boolean },
): Promise<boolean> {
  const args = [service, states, sealed, keys.channelPrefix, instance, outcome];
  const pollId = await commands.repeat({ insist }, () =>
    commands.run(SCRIPTS.complete, [recordKey, outcomeKey], args),
  );
  if (typeof pollId !== 'string') return false;
  // The script does not publish to this process. If the reply was lost, the connection
  // was cut, and then every waiter is notified.
  if (pollId !== '') localPolls.changed(pollId);
  return true;
}
