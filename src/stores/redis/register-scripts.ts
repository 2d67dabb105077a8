/** Scripts by which a session comes into the store, and its place among the live. */
import { GARBAGE_MS, NOW, SWEPT_AT_ONCE, script } from './script.ts';

/** Expired sessions that one registration throws away. More than one, or they would pile up. */
const TRIM = 16;

/**
 * KEYS: live sessions. ARGV: now, session id, maximum, lifetime.
 * Takes a place among the live, or returns 0.
 */
const RESERVE = `
if redis.call('ZCOUNT', KEYS[1], now, '+inf') >= tonumber(ARGV[3]) then return 0 end
-- The first to write, so that a full store refuses it: what removes comes after.
redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4] + ${GARBAGE_MS})
-- Later than a sweep, which tells of what it removes.
local stale = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ${GARBAGE_MS}), 'LIMIT', 0, ${TRIM})
if #stale > 0 then redis.call('ZREM', KEYS[1], unpack(stale)) end
`;

/** A poll pointer or a user code: when it expires, and what it leads to. Needs: now, lifetime. */
const SIGNPOSTS = `
local function is_taken(key)
  local held = redis.call('GET', key)
  return held and now <= tonumber(string.match(held, '^%d+'))
end
local function point(key, value)
  redis.call('SET', key, (now + lifetime) .. '.' .. value, 'PX', lifetime + ${GARBAGE_MS})
end
`;

/** Needs: now, lifetime. The fields that the caller names begin at ARGV[first]. */
const SESSIONS = `
local function is_alive(key)
  local expires = redis.call('HGET', key, 'e')
  return expires and now <= tonumber(expires)
end
local function create(key, first)
  -- Not always, or a full store would take the session: it refuses what first takes memory.
  if redis.call('HGET', key, 'e') then redis.call('DEL', key) end
  redis.call('HSET', key, 's', 'p', 't', now, 'e', now + lifetime, unpack(ARGV, first))
  redis.call('PEXPIRE', key, lifetime + ${GARBAGE_MS})
end
`;

/**
 * KEYS: live sessions, poll pointer, session, and the user code if there is one.
 * ARGV: now, session id, maximum, lifetime, pointer's value, code's value, and
 * the session's fields with their names.
 * 1: registered, 0: as many are alive as may be, -1: a live session has one of
 * the capabilities.
 */
export const REGISTER = script(`${NOW}
local pointer, session, code = KEYS[2], KEYS[3], KEYS[4]
local lifetime = tonumber(ARGV[4])
${SIGNPOSTS}${SESSIONS}
if is_taken(pointer) or is_alive(session) or code and is_taken(code) then return -1 end
${RESERVE}
point(pointer, ARGV[5])
if code then point(code, ARGV[6]) end
create(session, 7)
return 1
`);

/* The steps of REGISTER for a Cluster, where its keys lie in three slots or four. */

export const RESERVE_PLACE = script(`${NOW}${RESERVE}return 1`);

/** KEYS: poll pointer or user code. ARGV: now, lifetime, value. */
export const CREATE_SIGNPOST = script(`${NOW}
local lifetime = tonumber(ARGV[2])
${SIGNPOSTS}
if is_taken(KEYS[1]) then return -1 end
point(KEYS[1], ARGV[3])
return 1
`);

/** KEYS: session. ARGV: now, lifetime, and the session's fields with their names. */
export const CREATE_SESSION = script(`${NOW}
local lifetime = tonumber(ARGV[2])
${SESSIONS}
if is_alive(KEYS[1]) then return -1 end
create(KEYS[1], 3)
return 1
`);

/** KEYS: what a registration that collided has made, or what nobody needs any more. */
export const FORGET = script("return redis.call('DEL', KEYS[1])");

/** KEYS: live sessions. ARGV: session id. */
export const LEAVE_PLACE = script("return redis.call('ZREM', KEYS[1], ARGV[1])");

/** KEYS: live sessions. ARGV: session id, when it expires. It is alive again. */
export const RETURN_PLACE = script("return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])");

/** KEYS: live sessions. ARGV: now, session id, milliseconds. It lives so long from now. */
export const KEEP_PLACE = script(`${NOW}
return redis.call('ZADD', KEYS[1], 'XX', now + ARGV[3], ARGV[2])
`);

/** Needs: session. Leaves: told, what the log says of it: service, state, 1 if it was opened, the sign-in's id. */
const TELL_EXPIRED = `
local at = redis.call('HMGET', session, 'n', 's', 'b', 'g')
local told = {at[1] or '', at[2] or '', at[3] and '1' or '', at[4] or ''}
`;

/**
 * KEYS: live sessions. ARGV: now, prefix of sessions ('' in a Cluster, where the
 * caller asks for each). Removes expired sessions from the index. Returns the ids,
 * and what the log says of each.
 */
export const TRIM_EXPIRED = script(`${NOW}
local stale = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, ${SWEPT_AT_ONCE})
if #stale > 0 then redis.call('ZREM', KEYS[1], unpack(stale)) end
local all = {}
for i, id in ipairs(ARGV[2] ~= '' and stale or {}) do
  local session = ARGV[2] .. id
  ${TELL_EXPIRED}
  all[i] = told
end
return {stale, all}
`);

/** KEYS: session. */
export const DESCRIBE_EXPIRED = script(`local session = KEYS[1]${TELL_EXPIRED}return told`);

/** KEYS: live sessions. ARGV: now. */
export const COUNT_LIVE = script(`${NOW}return redis.call('ZCOUNT', KEYS[1], now, '+inf')`);
