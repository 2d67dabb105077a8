-- Expired sessions no longer take room in the index. Their records expire by themselves.
-- KEYS     live sessions
-- ARGV     clock
-- Returns  the ids of those that were removed
--- @include clock

local now = read_clock(ARGV[1])
if not now then return too_late() end
redis.call('PEXPIRE', KEYS[1], LIMIT.index_ms)
local expired = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, LIMIT.swept_at_once)
if #expired > 0 then redis.call('ZREM', KEYS[1], unpack(expired)) end
return expired
