-- KEYS     bucket
-- ARGV     clock, burst, milliseconds for a token
-- Returns  0, or the milliseconds until there is a token

-- A token bucket is one number: when it will be full, in ms. By the arithmetic of
-- sign-ins/rate-limits.ts, to the last bit.
local bucket, burst, interval = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local full_at = math.max(tonumber(redis.call('GET', bucket) or 0), now) + interval
local missing = full_at - now - burst * interval
if missing >= 1 then return math.floor(missing) end
-- The delete comes first, which a full store accepts: limits hold there too.
redis.call('DEL', bucket)
redis.call('SET', bucket, string.format('%.17g', full_at), 'PX', math.ceil(full_at - now))
return 0
