-- Sessions that count against the limit.
-- KEYS     live sessions
-- ARGV     clock
-- Returns  how many are alive
--- @include clock

local now = read_clock(ARGV[1])
if not now then return too_late() end
return redis.call('ZCOUNT', KEYS[1], now, '+inf')
