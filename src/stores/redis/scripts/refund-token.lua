-- KEYS     bucket
-- ARGV     clock, milliseconds for a token
-- Returns  1, or 0 if the bucket is full now, which needs no key

local bucket = KEYS[1]
local full_at = tonumber(redis.call('GET', bucket) or 0) - tonumber(ARGV[2])
redis.call('DEL', bucket)
if full_at <= now then return 0 end
redis.call('SET', bucket, string.format('%.17g', full_at), 'PX', math.ceil(full_at - now))
return 1
