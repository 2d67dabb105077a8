-- Sessions that count against the limit.
-- KEYS     live sessions
-- ARGV     clock
-- Returns  how many are alive

return redis.call('ZCOUNT', KEYS[1], now, '+inf')
