-- KEYS     bucket
-- ARGV     clock, milliseconds for a token
-- Returns  1, or 0 if the bucket is full now, which needs no key

local bucket = KEYS[1]
local full_at = tonumber(redis.call('GET', bucket) or 0) - tonumber(ARGV[2])
redis.call('DEL', bucket)
if full_at <= now then return 0 end
fill_at(bucket, full_at)
return 1
