-- KEYS     bucket
-- ARGV     clock, milliseconds for a token
-- Returns  1, or 0 if the bucket is full now, which needs no key
--- @include clock
--- @include bucket

local now = read_clock(ARGV[1])
if not now then return too_late() end
local full_at = tonumber(redis.call('GET', KEYS[1]) or 0) - tonumber(ARGV[2])
if full_at > now then
  fill_at(KEYS[1], full_at, now)
  return 1
end
redis.call('DEL', KEYS[1])
return 0
