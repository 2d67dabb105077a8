-- KEYS     bucket
-- ARGV     clock, burst, milliseconds for a token
-- Returns  0, or the milliseconds until there is a token

local bucket = KEYS[1]
local full_at, wait_ms = look_into(bucket, tonumber(ARGV[2]), tonumber(ARGV[3]))
if wait_ms > 0 then return wait_ms end
-- The delete comes first, which a full store accepts: limits hold there too.
redis.call('DEL', bucket)
fill_at(bucket, full_at)
return 0
