/**
 * Every transition of a session as one script, so that it is atomic whoever
 * calls it from where. The table is that of relay/session.ts; the store suite
 * holds both to the same outcomes.
 *
 * A session is a hash:
 *   s state: p pending, x exchanging, c completed, d delivered
 *   n service, e expires at (ms), l lease ends at (ms), d id of its poll pointer
 *   v sealed verifier, r sealed result (empty: the lease ran out)
 *   i id of the lease, c id of the claim: whoever repeats it under the same one gets the same answer
 *   w:<instance> set while a poll of that instance waits
 * A poll pointer is a string: expires at (ms), session id, wrapped key.
 */

import { hash } from 'node:crypto';

export interface Script {
  readonly text: string;
  /** What the server knows it by once it has seen it. */
  readonly sha1: string;
}

function script(text: string): Script {
  return { text, sha1: hash('sha1', text) };
}

/** Kept this much longer than it is alive: dying is decided by `e`, this is only the cleaning. */
const GARBAGE_MS = 60_000;

/** How long a delivered result stays for a repetition of the same claim. hazards.md §3, Claim. */
const REPEAT_MS = 10_000;

/** Expired sessions that one registration throws away. More than one, or they would pile up. */
const TRIM = 16;

/**
 * The clock is the store's, so that relays whose clocks differ agree; a test may
 * bring its own. `until <ms>`: later than that nobody waits for the script any more.
 */
const NOW = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.match(ARGV[1], '%d+'))
  if latest and now > latest then return redis.error_reply('LATE not carried out') end
end
`;

/**
 * A full store refuses what takes memory if a script begins with it. What is
 * under way is brought to its end, so it begins with what takes none; only new
 * sessions are refused.
 */
const evenIfFull = (key: string) => `redis.call('HDEL', ${key}, '')\n`;

/** What every verb that comes by the link begins with: a live session of that service. */
const SESSION = `${NOW}
local at = redis.call('HMGET', KEYS[1], 's', 'n', 'e', 'v', 'l', 'r')
if not at[1] or at[2] ~= ARGV[2] or now > tonumber(at[3]) then return false end
`;

/**
 * KEYS: live sessions. ARGV: now, session id, maximum, lifetime.
 * Takes a place among the live, or returns 0.
 */
const RESERVE = `
local stale = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, ${TRIM})
if #stale > 0 then redis.call('ZREM', KEYS[1], unpack(stale)) end
if redis.call('ZCOUNT', KEYS[1], now, '+inf') >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4] + ${GARBAGE_MS})
`;

const POINT = `
redis.call('SET', pointer, (now + lifetime) .. '.' .. value, 'PX', lifetime + ${GARBAGE_MS})
`;

const CREATE = `
redis.call('DEL', session)
redis.call('HSET', session, 's', 'p', 'n', service, 'e', now + lifetime, 'd', poll, 'v', verifier)
redis.call('PEXPIRE', session, lifetime + ${GARBAGE_MS})
`;

const IS_POINTER_TAKEN = `
local held = redis.call('GET', pointer)
if held and now <= tonumber(string.match(held, '^%d+')) then return -1 end
`;

const IS_SESSION_TAKEN = `
local expires = redis.call('HGET', session, 'e')
if expires and now <= tonumber(expires) then return -1 end
`;

/**
 * KEYS: live sessions, poll pointer, session. ARGV: now, session id, maximum,
 * lifetime, pointer's value, service, poll id, sealed verifier.
 * 1: registered, 0: as many are alive as may be, -1: a live session has one of
 * the capabilities.
 */
export const REGISTER = script(`${NOW}
local pointer, session = KEYS[2], KEYS[3]
local lifetime, value, service, poll, verifier = tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7], ARGV[8]
${IS_POINTER_TAKEN}${IS_SESSION_TAKEN}${RESERVE}${POINT}${CREATE}
return 1
`);

/** The three steps of REGISTER for a Cluster, where its keys lie in three slots. */
export const RESERVE_PLACE = script(`${NOW}${RESERVE}return 1`);

/** KEYS: poll pointer. ARGV: now, lifetime, value. */
export const CREATE_POINTER = script(`${NOW}
local pointer, lifetime, value = KEYS[1], tonumber(ARGV[2]), ARGV[3]
${IS_POINTER_TAKEN}${POINT}
return 1
`);

/** KEYS: session. ARGV: now, lifetime, service, poll id, sealed verifier. */
export const CREATE_SESSION = script(`${NOW}
local session = KEYS[1]
local lifetime, service, poll, verifier = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
${IS_SESSION_TAKEN}${CREATE}
return 1
`);

/** KEYS: the pointer or session of a registration that collided. */
export const FORGET = script("return redis.call('DEL', KEYS[1])");

/** Returns the sealed verifier. */
export const OPEN = script(`${SESSION}
if at[1] ~= 'p' then return false end
return at[4] or ''
`);

/** ARGV: now, service, milliseconds of the lease, its id. Returns as OPEN, under one id only. */
export const LEASE = script(`${SESSION}
local again = at[1] == 'x' and redis.call('HGET', KEYS[1], 'i') == ARGV[4]
if at[1] ~= 'p' and not again then return false end
${evenIfFull('KEYS[1]')}
redis.call('HSET', KEYS[1], 's', 'x', 'l', now + ARGV[3], 'i', ARGV[4])
return at[4] or ''
`);

/**
 * ARGV: now, service, the state it must be in, sealed result, prefix of the
 * instances' channels ('' in a Cluster, where the caller publishes).
 * Returns the poll id and the instances where somebody waits. A repetition of
 * the call that completed it returns the same, claimed meanwhile or not, so a
 * caller may repeat when it does not know.
 */
export const COMPLETE = script(`${SESSION}
if at[6] ~= ARGV[4] then
  local lapsed = at[1] == 'x' and now > tonumber(at[5])
  if at[1] ~= ARGV[3] or lapsed then return false end
  ${evenIfFull('KEYS[1]')}
  redis.call('HSET', KEYS[1], 's', 'c', 'r', ARGV[4])
  redis.call('HDEL', KEYS[1], 'v')
end
local fields = redis.call('HGETALL', KEYS[1])
local poll, waiting = redis.call('HGET', KEYS[1], 'd'), {}
for i = 1, #fields, 2 do
  local instance = string.match(fields[i], '^w:(.+)')
  if instance then
    table.insert(waiting, instance)
    if ARGV[5] ~= '' then redis.call('PUBLISH', ARGV[5] .. instance, poll) end
  end
end
return {poll, waiting}
`);

/** Needs: session, now, claim ('' only leaves word), instance, value. */
const CLAIM_OR_RETURN = `
local at = redis.call('HMGET', session, 's', 'e', 'l', 'r', 'c')
if not at[1] or now > tonumber(at[2]) then return {'gone'} end
if at[1] == 'd' and at[5] == claim then return {'claimed', at[4], value, 'again'} end
if at[1] == 'd' then return {'gone'} end
local lapsed = at[1] == 'x' and now > tonumber(at[3])
${evenIfFull('session')}
if claim == '' or at[1] ~= 'c' and not lapsed then
  redis.call('HSET', session, 'w:' .. instance, '')
  return {'pending'}
end
redis.call('HSET', session, 's', 'd', 'c', claim, 'r', at[4] or '')
redis.call('PEXPIRE', session, ${REPEAT_MS})
`;

/**
 * KEYS: poll pointer, live sessions. ARGV: now, claim id, instance, prefix of
 * sessions. Finds the session by its pointer, which only one that is no Cluster
 * allows. Returns gone | pending | claimed, the sealed result, the pointer's
 * value, and 'again' when it had been claimed under this id before.
 */
export const CLAIM_BY_POINTER = script(`${NOW}
local value = redis.call('GET', KEYS[1])
if not value then return {'gone'} end
local id = string.match(value, '^%d+%.([^.]+)')
local session, claim, instance = ARGV[4] .. id, ARGV[2], ARGV[3]
${CLAIM_OR_RETURN}
redis.call('PEXPIRE', KEYS[1], ${REPEAT_MS})
redis.call('ZREM', KEYS[2], id)
return {'claimed', at[4] or '', value}
`);

/** KEYS: session. ARGV: now, claim id, instance, the pointer's value. Returns as CLAIM_BY_POINTER. */
export const CLAIM_SESSION = script(`${NOW}
local session, claim, instance, value = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
${CLAIM_OR_RETURN}
return {'claimed', at[4] or '', value}
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

/** KEYS: live sessions. ARGV: session id. */
export const LEAVE_PLACE = script("return redis.call('ZREM', KEYS[1], ARGV[1])");

/** KEYS: live sessions. ARGV: now. */
export const TRIM_EXPIRED = script(`${NOW}
local stale = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, 1000)
if #stale > 0 then redis.call('ZREM', KEYS[1], unpack(stale)) end
return #stale
`);

/**
 * KEYS: bucket. ARGV: now, burst, milliseconds a token. The arithmetic of
 * relay/rate-limit.ts, to the last bit. Returns 0, or the milliseconds until there is a token.
 */
export const TAKE_TOKEN = script(`${NOW}
local interval = tonumber(ARGV[3])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + interval
local ahead = full - now - tonumber(ARGV[2]) * interval
if ahead >= 1 then return math.floor(ahead) end
redis.call('SET', KEYS[1], string.format('%.17g', full), 'PX', math.ceil(full - now))
return 0
`);
