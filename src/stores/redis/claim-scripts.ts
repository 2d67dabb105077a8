/** Scripts by which a result is delivered to one poll, and what else a device does with its poll secret. */
import { STORE_UNDO_MS } from '../../limits.ts';
import { evenIfFull, GARBAGE_MS, NOW, script, WAKE } from './script.ts';

/**
 * Needs: session, now, attempt, instance, value. An attempt is
 * `<instance>.<claim>.<number>.`: whoever repeats a claim under another number
 * gets the same answer. Without an attempt nothing is claimed, the instance only
 * registers as waiting, unless the result is kept for whoever asks. An error that
 * stays until the session expires is returned and nothing is changed.
 * Leaves: at, how ('kept'), stays, waited (milliseconds since the result was stored).
 */
const CLAIM_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'e', 'l', 'r', 'c', 'a', 'f', 'n', 'z')
local waited = at[9] and now - tonumber(at[9]) or 0
if not at[1] or at[1] == 'q' or now > tonumber(at[2]) then return {'gone'} end
local lapsed = at[1] == 'x' and now > tonumber(at[3])
if at[1] == 'f' or lapsed and at[7] then return {'claimed', at[4] or '', value, 'kept again'} end
${evenIfFull('session')}
if at[1] == 'd' then
  local claim = string.match(attempt, '^[^.]+%.[^.]+%.')
  local isOurs = claim and at[5] and string.sub(at[5], 1, #claim) == claim
  if isOurs then redis.call('HSET', session, 'c', attempt) end
  if at[6] then
    -- Delivered to another poll as well: from now on nobody may undo it.
    if not isOurs then redis.call('HDEL', session, 'c') end
    return {'claimed', at[4], value, 'kept again'}
  end
  if isOurs then return {'claimed', at[4], value, 'again', 0, at[8], waited} end
  redis.call('HSET', session, 'w:' .. instance, '')
  return {'taken', at[5]}
end
if attempt == '' and not at[6] or at[1] ~= 'c' and not lapsed then
  redis.call('HSET', session, 'w:' .. instance, '')
  return {'pending'}
end
redis.call('HSET', session, 's', 'd', 'c', attempt, 'r', at[4] or '')
local how, stays = '', ${STORE_UNDO_MS}
if at[6] then
  how, stays = 'kept', tonumber(at[6])
  redis.call('HSET', session, 'e', now + stays, 'o', at[2])
end
redis.call('PEXPIRE', session, stays)
`;

/**
 * KEYS: poll pointer, live sessions. ARGV: now, attempt, instance, prefix of
 * sessions. Finds the session by its pointer, which only one that is no Cluster
 * allows. Returns gone | pending; taken, and the attempt that has it; or claimed,
 * the sealed result, the pointer's value, and how: 'again' when this claim had it;
 * then how long it stays, the service, and how long the result waited.
 */
export const CLAIM_BY_POINTER = script(`${NOW}
local value = redis.call('GET', KEYS[1])
if not value then return {'gone'} end
local id = string.match(value, '^%d+%.([^.]+)')
local session, attempt, instance = ARGV[4] .. id, ARGV[2], ARGV[3]
${CLAIM_OR_RETURN}
redis.call('PEXPIRE', KEYS[1], stays)
if how == 'kept' then
  redis.call('ZADD', KEYS[2], 'XX', now + stays, id)
else
  redis.call('ZREM', KEYS[2], id)
end
return {'claimed', at[4] or '', value, how, stays, at[8], waited}
`);

/** KEYS: session. ARGV: now, attempt, instance, the pointer's value. Returns as CLAIM_BY_POINTER. */
export const CLAIM_SESSION = script(`${NOW}
local session, attempt, instance, value = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
${CLAIM_OR_RETURN}
return {'claimed', at[4] or '', value, how, stays, at[8], waited}
`);

/**
 * Needs: session, now, undone (an attempt, or a claim with all its attempts),
 * channels. The session is as if it had not been claimed. Leaves: expires, waiting.
 */
const UNDO_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'c', 'e', 'o')
if at[1] ~= 'd' or not at[2] or string.sub(at[2], 1, #undone) ~= undone then return false end
local expires = tonumber(at[4] or at[3])
redis.call('HDEL', session, 'c', 'o')
redis.call('HSET', session, 's', 'c', 'e', expires)
redis.call('PEXPIRE', session, expires - now + ${GARBAGE_MS})
${WAKE}
`;

/**
 * KEYS: poll pointer, live sessions. ARGV: now, attempt or claim, prefix of
 * sessions, prefix of the instances' channels. Wakes the polls that wait.
 */
export const UNDO_BY_POINTER = script(`${NOW}
local id = string.match(redis.call('GET', KEYS[1]) or '', '^%d+%.([^.]+)')
if not id then return false end
local session, undone, channels = ARGV[3] .. id, ARGV[2], ARGV[4]
${UNDO_OR_RETURN}
redis.call('ZADD', KEYS[2], expires, id)
redis.call('PEXPIRE', KEYS[1], expires - now + ${GARBAGE_MS})
return 1
`);

/** KEYS: session. ARGV: now, attempt or claim. Returns when it expires, and whom to wake: the poll id and the instances. */
export const UNDO_SESSION = script(`${NOW}
local session, undone, channels = KEYS[1], ARGV[2], ''
${UNDO_OR_RETURN}
return {expires, poll, waiting}
`);

/** Needs: session, now. */
const CONFIRM_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'e', 'a')
if not at[1] or at[1] == 'q' or now > tonumber(at[2]) then return 'gone' end
if at[1] ~= 'd' then return 'early' end
if not at[3] then return 'gone' end
redis.call('DEL', session)
`;

/** KEYS: poll pointer, live sessions. ARGV: now, prefix of sessions. Returns acknowledged | early | gone. */
export const ACKNOWLEDGE_BY_POINTER = script(`${NOW}
local id = string.match(redis.call('GET', KEYS[1]) or '', '^%d+%.([^.]+)')
if not id then return 'gone' end
local session = ARGV[2] .. id
${CONFIRM_OR_RETURN}
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], id)
return 'acknowledged'
`);

/** KEYS: session. ARGV: now. Returns as ACKNOWLEDGE_BY_POINTER. */
export const ACKNOWLEDGE_SESSION = script(`${NOW}
local session = KEYS[1]
${CONFIRM_OR_RETURN}
return 'acknowledged'
`);

/* Verbs of the device on the session that its poll pointer leads to. A body needs: session, now, channels. */

/** KEYS: poll pointer. ARGV: now, prefix of the instances' channels, prefix of sessions. */
const byPointer = (body: string) =>
  script(`${NOW}
local id = string.match(redis.call('GET', KEYS[1]) or '', '^%d+%.([^.]+)')
if not id then return false end
local session, channels = ARGV[3] .. id, ARGV[2]
${body}`);

/** In a Cluster, where the caller follows the pointer, and publishes. KEYS: session. ARGV: now. */
const bySession = (body: string) =>
  script(`${NOW}
local session, channels = KEYS[1], ''
${body}`);

/** Returns 1 once, when the user has been led on to the provider. Otherwise whoever waits is told of it. */
const TELL_OPENED = `
local at = redis.call('HMGET', session, 's', 'e', 'b', 'h')
if at[1] ~= 'p' and at[1] ~= 'x' or now > tonumber(at[2]) then return 0 end
local next = at[3] and 'told' or 'asked'
if at[4] == 'told' or at[4] == next then return 0 end
${evenIfFull('session')}
redis.call('HSET', session, 'h', next)
return at[3] and 1 or 0
`;
export const TELL_OPENED_BY_POINTER = byPointer(TELL_OPENED);
export const TELL_OPENED_SESSION = bySession(TELL_OPENED);

/**
 * The session stays cancelled until it expires, with nothing in it but its service
 * and times. Returns whom to wake: the poll id and the instances; and the service,
 * the first time.
 */
const CANCEL = `
local at = redis.call('HMGET', session, 's', 'e', 'a', 'n')
if not at[1] or now > tonumber(at[2]) then return false end
if at[1] == 'd' then
  -- Delivered: whatever claim it was, nobody may undo it any more.
  if at[3] then redis.call('HDEL', session, 'c') else redis.call('DEL', session) end
  return false
end
${evenIfFull('session')}
redis.call('HDEL', session, 'v', 'r', 'm', 'k', 'l', 'i', 'g', 'z')
redis.call('HSET', session, 's', 'q')
${WAKE}
return {poll, waiting, at[1] ~= 'q' and at[4] or ''}
`;
export const CANCEL_BY_POINTER = byPointer(CANCEL);
export const CANCEL_SESSION = bySession(CANCEL);
