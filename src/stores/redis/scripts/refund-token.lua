-- KEYS     bucket
-- ARGV     clock, milliseconds for a token
-- Returns  1, or 0 if the bucket is full now, which needs no key
--- @include clock
--- @include bucket

local now = read_clock(ARGV[1])
if not now then return too_late() end
local bucket = KEYS[1]
local full_at = tonumber(redis.call('GET', bucket) or 0) - tonumber(ARGV[2])
redis.call('DEL', bucket)
if full_at <= now then return 0 end
fill_at(bucket, full_at, now)
return 1
