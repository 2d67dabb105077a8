-- Removes expired sessions from the index. Their records expire by themselves.
-- KEYS     live sessions
-- ARGV     clock
-- Returns  the ids of those that were removed

redis.call('PEXPIRE', KEYS[1], LIMIT.index_ms)
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, LIMIT.swept_at_once)
if #expired > 0 then redis.call('ZREM', KEYS[1], unpack(expired)) end
return expired
