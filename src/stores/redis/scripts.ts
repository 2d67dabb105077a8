/**
 * Every transition of a session as one script, so that it is atomic whoever
 * calls it from where. The table is that of relay/session.ts; the store suite
 * holds both to the same outcomes.
 *
 * A session is a hash:
 *   s state: p pending, x exchanging, c completed, d delivered, f failed: an error that stays until the session expires,
 *     q cancelled by its device
 *   n service, t started at (ms), e expires at (ms), l lease ends at (ms), d id of its poll pointer
 *   v sealed verifier, r sealed result (empty: the lease ran out)
 *   m sealed name of the device, k the device's key, sealed
 *   a how long the result stays after it was first claimed (ms; absent: it is claimed once), f set when errors stay
 *   i id of the lease: whoever repeats it under the same one gets the same answer
 *   c attempt that claimed it (claim-scripts.ts), o what e was before the claim
 *   g id of the sign-in in the log, z when it completed (ms)
 *   b when the user was first led on to the provider (ms)
 *   h asked: a device waits to be told of that; told: it was
 *   w:<instance> set while a poll of that instance waits
 * A poll pointer is a string: expires at (ms), session id, wrapped key.
 * A user code is a string: expires at (ms), sealed browser state; once it is used, 0 and by which request.
 */
import { STORE_UNDO_MS } from '../../limits.ts';
import { evenIfFull, GARBAGE_MS, NOW, script, WAKE, WAKE_OPENED } from './script.ts';

/** What every verb that comes by the link begins with: a live session of that service. */
const SESSION = `${NOW}
local at = redis.call('HMGET', KEYS[1], 's', 'n', 'e', 'v', 'l', 'r', 'k')
if not at[1] or at[2] ~= ARGV[2] or now > tonumber(at[3]) then return false end
`;

/**
 * ARGV: now, service, prefix of the instances' channels ('' in a Cluster, where the
 * caller publishes). The first time is noted, and published where a device waits
 * to be told. Returns the sealed verifier; the poll id and the instances; and
 * 1 the first time.
 */
export const OPEN = script(`${SESSION}
if at[1] ~= 'p' then return false end
local session, channels, verifier = KEYS[1], ARGV[3], at[4] or ''
local opening = redis.call('HMGET', session, 'b', 'h')
if opening[1] then return {verifier, '', {}, 0} end
${evenIfFull('session')}
redis.call('HSET', session, 'b', now)
if opening[2] ~= 'asked' then return {verifier, '', {}, 1} end
${WAKE_OPENED}
return {verifier, poll, waiting, 1}
`);

/** ARGV: now. Returns 1 for a session that its device has cancelled. */
export const IS_CANCELLED = script(`${NOW}
local at = redis.call('HMGET', KEYS[1], 's', 'e')
return at[1] == 'q' and now <= tonumber(at[2]) and 1 or 0
`);

/** ARGV: now. Returns the service, the sealed verifier, when it started, the device's sealed name. */
export const FIND = script(`${NOW}
local at = redis.call('HMGET', KEYS[1], 's', 'e', 'n', 'v', 't', 'm')
if at[1] ~= 'p' or now > tonumber(at[2]) then return false end
return {at[3], at[4] or '', at[5] or '', at[6] or ''}
`);

/** KEYS: user code. ARGV: now, id of the request. 1 under one id only, else 0. */
export const USE_CODE = script(`${NOW}
local held, used = redis.call('GET', KEYS[1]), '0.' .. ARGV[2]
if held == used then return 1 end
if not held or string.match(held, '^0%.') then return 0 end
redis.call('DEL', KEYS[1]) -- first, because a full store may be told to forget
redis.call('SET', KEYS[1], used, 'PX', ${STORE_UNDO_MS})
return 1
`);

/** KEYS: user code. ARGV: now, id of the request, what was held before. As if that request had not used the code. */
export const UNDO_USE_CODE = script(`${NOW}
local expires = tonumber(string.match(ARGV[3], '^%d+'))
if redis.call('GET', KEYS[1]) ~= '0.' .. ARGV[2] or now > expires then return 0 end
redis.call('DEL', KEYS[1]) -- first, because a full store may be told to forget
redis.call('SET', KEYS[1], ARGV[3], 'PX', expires - now + ${GARBAGE_MS})
return 1
`);

/**
 * ARGV: now, service, milliseconds of the lease, its id. Under one id only:
 * returns the sealed verifier, the device's sealed key and its sealed name.
 */
export const LEASE = script(`${SESSION}
local again = at[1] == 'x' and now <= tonumber(at[5]) and redis.call('HGET', KEYS[1], 'i') == ARGV[4]
if at[1] ~= 'p' and not again then return false end
${evenIfFull('KEYS[1]')}
redis.call('HSET', KEYS[1], 's', 'x', 'l', now + ARGV[3], 'i', ARGV[4])
return {at[4] or '', at[7] or '', redis.call('HGET', KEYS[1], 'm') or ''}
`);

/** ARGV: now, service, id of the lease. As if it had not been given, unless it has run out. */
export const UNDO_LEASE = script(`${SESSION}
if at[1] ~= 'x' or now > tonumber(at[5]) then return 0 end
if redis.call('HGET', KEYS[1], 'i') ~= ARGV[3] then return 0 end
redis.call('HDEL', KEYS[1], 'l', 'i')
redis.call('HSET', KEYS[1], 's', 'p')
return 1
`);

/** ARGV: now, service. Returns the device's sealed key, for who did not take the lease. */
export const DEVICE_KEY = script(`${SESSION}return at[7] or ''`);

/**
 * ARGV: now, service, the state it must be in, sealed result, prefix of the
 * instances' channels ('' in a Cluster, where the caller publishes), 'error' if it is one.
 * Returns the poll id and the instances where somebody waits. A repetition of
 * the call that completed it returns the same, claimed meanwhile or not, so a
 * caller may repeat when it does not know.
 */
export const COMPLETE = script(`${SESSION}
if at[6] ~= ARGV[4] then
  local lapsed = at[1] == 'x' and now > tonumber(at[5])
  if at[1] ~= ARGV[3] or lapsed then return false end
  ${evenIfFull('KEYS[1]')}
  local stays = ARGV[6] == 'error' and redis.call('HGET', KEYS[1], 'f')
  redis.call('HSET', KEYS[1], 's', stays and 'f' or 'c', 'r', ARGV[4], 'z', now)
  redis.call('HDEL', KEYS[1], 'v', 'm')
end
local session, channels = KEYS[1], ARGV[5]
${WAKE}
return {poll, waiting}
`);
