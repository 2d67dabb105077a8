-- KEYS     refresh
-- ARGV     clock, milliseconds for which the result is kept, sealed result ('' gives the turn up)
-- Returns  1 if there is a result

local refresh, kept_ms, result = KEYS[1], ARGV[2], ARGV[3]
redis.call('DEL', refresh)
if result == '' then return 0 end
redis.call('SET', refresh, (now + kept_ms) .. '..' .. result, 'PX', kept_ms)
return 1
