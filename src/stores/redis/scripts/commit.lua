-- Replaces the record of a session, unless another commit was faster, and notifies other instances.
-- A record begins with the tokens of all its commits, the newest first. This makes a commit
-- idempotent: one whose token is there has succeeded, and was repeated after a lost reply.
-- KEYS     session, its poll id, live sessions
-- ARGV     clock, its link id, the newest token that it must have, the new token (with those before
--          it that a failover has lost), version, body, last ms for this change, last ms at which
--          it is needed, last ms at which it counts as live or '', channel or '', message
-- Returns  1; the time and the record if that is another one; nothing if there is none

local session, poll, live = unpack(KEYS)
local id, expected, token = ARGV[2], ARGV[3], ARGV[4]
local record = redis.call('GET', session)
if not record then return false end
local tokens, times = string.match(record, '^(%S+) %d+ (%d+ %d+) ')
if string.find(tokens, string.match(token, '^[^,]+'), 1, true) then return 1 end
if string.find(tokens, expected, 1, true) ~= 1 or now > tonumber(ARGV[7]) then return { now, record } end

redis.call('DEL', session)
local kept_ms = math.max(ARGV[8] - now, 0) + GARBAGE_MS
redis.call('SET', session, token .. ',' .. tokens .. ' ' .. ARGV[5] .. ' ' .. times .. ' ' .. ARGV[6], 'PX', kept_ms)
redis.call('PEXPIRE', poll, kept_ms)
if ARGV[9] == '' then redis.call('ZREM', live, id) else redis.call('ZADD', live, 'XX', ARGV[9], id) end
if ARGV[10] ~= '' then redis.call('PUBLISH', ARGV[10], ARGV[11]) end
return 1
