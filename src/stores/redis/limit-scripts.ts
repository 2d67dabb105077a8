/** Scripts for token buckets and for refreshes. */
import { NOW, script } from './script.ts';

/**
 * A full store refuses what takes memory unless the script has begun with what
 * takes none (script.ts). Limits hold there too, or nobody with a code could
 * go on, and refreshes go on; what they keep expires within seconds.
 */
const FREE_FIRST = "redis.call('DEL', KEYS[1])";

/**
 * KEYS: bucket. ARGV: now, burst, milliseconds a token. The arithmetic of
 * relay/rate-limit.ts, to the last bit. Returns 0, or the milliseconds until there is a token.
 */
export const TAKE_TOKEN = script(`${NOW}
local interval = tonumber(ARGV[3])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + interval
local ahead = full - now - tonumber(ARGV[2]) * interval
if ahead >= 1 then return math.floor(ahead) end
${FREE_FIRST}
redis.call('SET', KEYS[1], string.format('%.17g', full), 'PX', math.ceil(full - now))
return 0
`);

/** KEYS: bucket. ARGV: now, milliseconds a token. A bucket that is full is none. */
export const GIVE_TOKEN_BACK = script(`${NOW}
local full = tonumber(redis.call('GET', KEYS[1]) or 0) - tonumber(ARGV[2])
redis.call('DEL', KEYS[1])
if full <= now then return 0 end
redis.call('SET', KEYS[1], string.format('%.17g', full), 'PX', math.ceil(full - now))
return 1
`);

/**
 * KEYS: refresh. ARGV: now, milliseconds of the turn, id of the caller.
 * A refresh is a string: until when (ms), whose turn, sealed answer once there is one.
 * Returns yours | under_way | answered, and the sealed answer.
 */
export const BEGIN_REFRESH = script(`${NOW}
local held = redis.call('GET', KEYS[1]) or '0..'
local expires, id, answer = string.match(held, '^(%d+)%.([^.]*)%.(.*)$')
if now <= tonumber(expires) then
  if answer ~= '' then return {'answered', answer} end
  if id ~= ARGV[3] then return {'under_way'} end
end
${FREE_FIRST}
redis.call('SET', KEYS[1], (now + ARGV[2]) .. '.' .. ARGV[3] .. '.', 'PX', ARGV[2])
return {'yours'}
`);

/** KEYS: refresh. ARGV: now, milliseconds it is kept, sealed answer ('' gives the turn up). */
export const SETTLE_REFRESH = script(`${NOW}
redis.call('DEL', KEYS[1])
if ARGV[3] == '' then return 0 end
redis.call('SET', KEYS[1], (now + ARGV[2]) .. '..' .. ARGV[3], 'PX', ARGV[2])
return 1
`);
