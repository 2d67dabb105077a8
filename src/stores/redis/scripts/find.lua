-- A session, for a page. Changes nothing.
-- KEYS     session, its outcome
-- ARGV     clock
-- Returns  of a pending session service, sealed verifier, milliseconds since it started, the
--          device's sealed name; of any other its outcome, if that is known
--- @include clock
--- @include expiry
--- @include lease

local now = read_clock(ARGV[1])
if not now then return too_late() end
local session, outcome = unpack(KEYS)
local state, expires_at, service, verifier, started_at, device_name, lease_ends_at = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.service, FIELD.verifier, FIELD.started_at, FIELD.device_name, FIELD.lease_ends_at))
if is_alive(expires_at, now) then
  if state == STATE.pending then return { service, verifier or '', now - tonumber(started_at), device_name or '' } end
  if state == STATE.cancelled then return 'cancelled' end
  if state == STATE.exchanging and not is_lapsed(state, lease_ends_at, now) then return 'in_progress' end
end
local known_until, which = string.match(redis.call('GET', outcome) or '', '^(%d+)%.(.*)$')
return is_alive(known_until, now) and which
