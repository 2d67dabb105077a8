-- A pending session, for a page. Changes nothing.
-- KEYS     session
-- ARGV     clock
-- Returns  service, sealed verifier, when it started, the device's sealed name
--- @include clock
--- @include expiry

local now = read_clock(ARGV[1])
if not now then return too_late() end
local state, expires_at, service, verifier, started_at, device_name = unpack(redis.call('HMGET', KEYS[1],
  FIELD.state, FIELD.expires_at, FIELD.service, FIELD.verifier, FIELD.started_at, FIELD.device_name))
if state ~= STATE.pending or not is_alive(expires_at, now) then return false end
return { service, verifier or '', started_at or '', device_name or '' }
