-- KEYS     session
-- ARGV     clock
-- Returns  1 if its device has cancelled the session, which has not expired since
--- @include clock
--- @include expiry

local now = read_clock(ARGV[1])
if not now then return too_late() end
local state, expires_at = unpack(redis.call('HMGET', KEYS[1], FIELD.state, FIELD.expires_at))
return state == STATE.cancelled and is_alive(expires_at, now) and 1 or 0
