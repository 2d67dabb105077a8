/** Scripts by which a result comes into one hand. */
import { ACK_MS } from '../limits.ts';
import { evenIfFull, GARBAGE_MS, NOW, REPEAT_MS, script } from './redis-script.ts';

/**
 * Needs: session, now, claim, instance, value. Without a claim it only leaves
 * word, unless the result is kept for whoever asks until the device confirms.
 * Leaves: at, how ('kept'), stays (milliseconds).
 */
const CLAIM_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'e', 'l', 'r', 'c', 'a')
if not at[1] or now > tonumber(at[2]) then return {'gone'} end
if at[1] == 'd' and at[6] then return {'claimed', at[4], value, 'kept again'} end
if at[1] == 'd' and at[5] == claim then return {'claimed', at[4], value, 'again'} end
if at[1] == 'd' then return {'gone'} end
local lapsed = at[1] == 'x' and now > tonumber(at[3])
${evenIfFull('session')}
if claim == '' and not at[6] or at[1] ~= 'c' and not lapsed then
  redis.call('HSET', session, 'w:' .. instance, '')
  return {'pending'}
end
redis.call('HSET', session, 's', 'd', 'c', claim, 'r', at[4] or '')
local how, stays = '', ${REPEAT_MS}
if at[6] then
  how, stays = 'kept', ${ACK_MS}
  redis.call('HSET', session, 'e', now + stays)
end
redis.call('PEXPIRE', session, stays)
`;

/**
 * KEYS: poll pointer, live sessions. ARGV: now, claim id, instance, prefix of
 * sessions. Finds the session by its pointer, which only one that is no Cluster
 * allows. Returns gone | pending | claimed, the sealed result, the pointer's
 * value, and how: 'again' when it had been claimed under this id before.
 */
export const CLAIM_BY_POINTER = script(`${NOW}
local value = redis.call('GET', KEYS[1])
if not value then return {'gone'} end
local id = string.match(value, '^%d+%.([^.]+)')
local session, claim, instance = ARGV[4] .. id, ARGV[2], ARGV[3]
${CLAIM_OR_RETURN}
redis.call('PEXPIRE', KEYS[1], stays)
if how == 'kept' then
  redis.call('ZADD', KEYS[2], 'XX', now + stays, id)
else
  redis.call('ZREM', KEYS[2], id)
end
return {'claimed', at[4] or '', value, how}
`);

/** KEYS: session. ARGV: now, claim id, instance, the pointer's value. Returns as CLAIM_BY_POINTER. */
export const CLAIM_SESSION = script(`${NOW}
local session, claim, instance, value = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
${CLAIM_OR_RETURN}
return {'claimed', at[4] or '', value, how}
`);

/** KEYS: poll pointer, live sessions. ARGV: now, claim id, prefix of sessions. As if it had not been claimed. */
export const TAKE_BACK = script(`${NOW}
local id = string.match(redis.call('GET', KEYS[1]) or '', '^%d+%.([^.]+)')
if not id then return 0 end
local session = ARGV[3] .. id
local at = redis.call('HMGET', session, 's', 'c', 'e')
if at[1] ~= 'd' or at[2] ~= ARGV[2] then return 0 end
local expires = tonumber(at[3])
redis.call('HDEL', session, 'c')
redis.call('HSET', session, 's', 'c')
redis.call('ZADD', KEYS[2], expires, id)
for _, key in ipairs({session, KEYS[1]}) do
  redis.call('PEXPIRE', key, expires - now + ${GARBAGE_MS})
end
return 1
`);

/** Needs: session, now. */
const CONFIRM_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'e', 'a')
if not at[1] or now > tonumber(at[2]) then return 'gone' end
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
