-- The user is redirected to the provider. The first time is recorded, and published if a device has asked for it.
-- KEYS     session
-- ARGV     clock, service, prefix of the instances' channels
-- Returns  the sealed verifier, and 1 the first time, else 0; nothing if there is no pending session of that service

local session = KEYS[1]
local state, service, expires_at, verifier, opened_at, opening, poll_id = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.service, FIELD.expires_at, FIELD.verifier, FIELD.opened_at, FIELD.opening, FIELD.poll_id))
if state ~= STATE.pending or service ~= ARGV[2] or not is_alive(expires_at) then return false end
if not opened_at then
  allow_when_full(session)
  redis.call('HSET', session, FIELD.opened_at, now)
  if opening == OPENING.asked then notify(redis.call('HGETALL', session), ARGV[3], 'opened ' .. poll_id) end
end
return { verifier or '', opened_at and 0 or 1 }
