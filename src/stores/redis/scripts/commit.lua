-- Replaces the record of a session, unless another commit was faster, and notifies other instances.
-- A record begins with the tokens of all its commits, the newest first. This makes a commit
-- idempotent: one whose token is there has succeeded, and was repeated after a lost reply.
-- KEYS     session, its poll id, live sessions if it changes when it stops being live
-- ARGV     clock, its link id, the newest token that it must have, the new token, the record, last ms
--          for this change, ms for which it is kept, last ms at which it counts as live or '',
--          channel or '', message
-- Returns  1; the time and the record if that is another one; nothing if there is none

local session, poll, live = unpack(KEYS)
local id, expected, token, kept_ms = ARGV[2], ARGV[3], ARGV[4], ARGV[7]
-- Lua hashes each string whole, so only the tokens are read: those of a session have fewer than 200 characters.
local tokens = redis.call('GETRANGE', session, '0', '255')
if tokens == '' then return false end
if string.find(tokens, token, 1, true) then return 1 end
local is_newest = string.find(tokens, expected, 1, true) == 1
if not is_newest or now > tonumber(ARGV[6]) then return { now, redis.call('GET', session) } end

-- The expiry comes first, which a full store accepts.
redis.call('PEXPIRE', poll, kept_ms)
redis.call('SET', session, ARGV[5], 'PX', kept_ms)
if live and ARGV[8] == '' then redis.call('ZREM', live, id) end
if live and ARGV[8] ~= '' then redis.call('ZADD', live, 'XX', ARGV[8], id) end
if ARGV[9] ~= '' then redis.call('PUBLISH', ARGV[9], ARGV[10]) end
return 1
