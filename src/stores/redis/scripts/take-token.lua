-- KEYS     bucket
-- ARGV     clock, burst, milliseconds for a token
-- Returns  0, or the milliseconds until there is a token
--- @include clock
--- @include bucket

local now = read_clock(ARGV[1])
if not now then return too_late() end
local bucket = KEYS[1]
local full_at, wait_ms = look_into(bucket, tonumber(ARGV[2]), tonumber(ARGV[3]), now)
if wait_ms > 0 then return wait_ms end
-- First, because a full store may be told to delete: limits hold there too.
redis.call('DEL', bucket)
fill_at(bucket, full_at, now)
return 0
