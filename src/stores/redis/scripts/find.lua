-- A session, for a page. Changes nothing.
-- KEYS     session, its outcome
-- ARGV     clock
-- Returns  of a pending session service, sealed verifier, milliseconds since it started, the
--          device's sealed name; of any other its outcome, if it is known

local session, outcome = unpack(KEYS)
local state, expires_at, service, verifier, started_at, device_name, lease_ends_at = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.service, FIELD.verifier, FIELD.started_at, FIELD.device_name, FIELD.lease_ends_at))
if is_alive(expires_at) then
  if state == STATE.pending then return { service, verifier or '', now - tonumber(started_at), device_name or '' } end
  if state == STATE.cancelled then return 'cancelled' end
  if state == STATE.exchanging and not is_lapsed(state, lease_ends_at) then return 'in_progress' end
end
local known_until, which = string.match(redis.call('GET', outcome) or '', '^(%d+)%.(.*)$')
return is_alive(known_until) and which
