-- As if that request had not used the code.
-- KEYS     user code
-- ARGV     clock, id of the request, the value that the code had
-- Returns  1 if it was used by that request, and would not have expired
--- @include clock

local now = read_clock(ARGV[1])
if not now then return too_late() end
local code, request, value = KEYS[1], ARGV[2], ARGV[3]
local expires_at = tonumber(string.match(value, '^%d+'))
if redis.call('GET', code) ~= '0.' .. request or now > expires_at then return 0 end
-- First, because a full store may be told to delete.
redis.call('DEL', code)
redis.call('SET', code, value, 'PX', expires_at - now + LIMIT.garbage_ms)
return 1
