-- Removes sessions that are no longer live from the index. Their records expire by themselves.
-- KEYS     live sessions
-- ARGV     clock
-- Returns  their link ids: 250 at most, which takes about a millisecond

local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, 250)
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
return ended
