-- KEYS     user code
-- ARGV     clock, id of the request
-- Returns  1 for one id only, however often it asks
--- @include clock

local now = read_clock(ARGV[1])
if not now then return too_late() end
local code, used = KEYS[1], '0.' .. ARGV[2]
local value = redis.call('GET', code)
if value == used then return 1 end
if not value or string.match(value, '^0%.') then return 0 end
-- First, because a full store may be told to delete.
redis.call('DEL', code)
redis.call('SET', code, used, 'PX', LIMIT.undo_ms)
return 1
