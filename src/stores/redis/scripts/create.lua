-- Stores a session under all its ids, or not at all.
-- KEYS     live sessions, session, its poll id, its code id if it has a code
-- ARGV     clock, its link id, limit on live sessions, lifetime in ms, its first token and version, its body
-- Returns  the time; 'full': the limit is reached; 'collision': another session has one of its ids

local live, session, poll, code = unpack(KEYS)
local id, lifetime = ARGV[2], tonumber(ARGV[4])
local expires_at, kept_ms = now + lifetime, lifetime + GARBAGE_MS

local code_until = code and tonumber(string.match(redis.call('GET', code) or '0', '^%d+'))
if redis.call('EXISTS', session, poll) > 0 or code and now <= code_until then return 'collision' end
if redis.call('ZCOUNT', live, now, '+inf') >= tonumber(ARGV[3]) then return 'full' end

redis.call('ZADD', live, expires_at, id)
-- The index is removed a day after the last of its sessions.
redis.call('PEXPIRE', live, kept_ms + 86400000)
redis.call('SET', poll, id, 'PX', kept_ms)
if code then redis.call('SET', code, expires_at .. ' ' .. id, 'PX', kept_ms) end
redis.call('SET', session, ARGV[5] .. ' ' .. now .. ' ' .. expires_at .. ' ' .. ARGV[6], 'PX', kept_ms)
return now
