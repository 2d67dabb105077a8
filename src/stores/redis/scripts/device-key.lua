-- The device's key, for an instance that did not take the lease.
-- KEYS     session
-- ARGV     clock, service
-- Returns  the device's sealed key; nothing if there is no session of that service

local service, expires_at, device_key = unpack(redis.call('HMGET', KEYS[1],
  FIELD.service, FIELD.expires_at, FIELD.device_key))
if service ~= ARGV[2] or not is_alive(expires_at) then return false end
return device_key or ''
