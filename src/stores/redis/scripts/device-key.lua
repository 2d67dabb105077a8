-- For an instance that did not take the lease.
-- KEYS     session
-- ARGV     clock, service
-- Returns  the device's sealed key; nothing for what is not a session of that service
--- @include clock
--- @include expiry

local now = read_clock(ARGV[1])
if not now then return too_late() end
local service, expires_at, device_key = unpack(redis.call('HMGET', KEYS[1],
  FIELD.service, FIELD.expires_at, FIELD.device_key))
if service ~= ARGV[2] or not is_alive(expires_at, now) then return false end
return device_key or ''
