-- KEYS     bucket
-- ARGV     clock, burst, milliseconds for a token
-- Returns  0, or the milliseconds until there is a token
--- @include clock
--- @include bucket

local now = read_clock(ARGV[1])
if not now then return too_late() end
local full_at, wait_ms = look_into(KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3]), now)
if wait_ms == 0 then fill_at(KEYS[1], full_at, now) end
return wait_ms
