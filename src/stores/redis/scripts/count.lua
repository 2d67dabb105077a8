-- KEYS     live sessions
-- ARGV     clock
-- Returns  how many count against the limit

return redis.call('ZCOUNT', KEYS[1], now, '+inf')
