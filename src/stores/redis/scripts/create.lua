-- Stores a session under all its ids, or not at all.
-- KEYS     live sessions, session, its poll id, its code id if it has a code
-- ARGV     clock, its link id, limit on live sessions, lifetime in ms, ms for which it is kept,
--          ms for which the index is, its first token and version, its body
-- Returns  the time; 'full': the limit is reached; 'collision': another session has one of its ids

local live, session, poll, code = unpack(KEYS)
local id, kept_ms, header, body = ARGV[2], ARGV[5], ARGV[7], ARGV[8]
local started_at, expires_at = tostring(now), tostring(now + ARGV[4])

local code_until = code and tonumber(string.match(redis.call('GET', code) or '0', '^%d+'))
if redis.call('EXISTS', session, poll) > 0 or code and now <= code_until then return 'collision' end
if redis.call('ZCOUNT', live, started_at, '+inf') >= tonumber(ARGV[3]) then return 'full' end

redis.call('ZADD', live, expires_at, id)
redis.call('PEXPIRE', live, ARGV[6])
redis.call('SET', poll, id, 'PX', kept_ms)
if code then redis.call('SET', code, expires_at .. ' ' .. id, 'PX', kept_ms) end
redis.call('SET', session, header .. ' ' .. started_at .. ' ' .. expires_at .. ' ' .. body, 'PX', kept_ms)
return now
