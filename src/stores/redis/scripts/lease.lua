-- Gives the right to exchange the code to one id, however often it asks.
-- KEYS     session, its outcome
-- ARGV     clock, service, milliseconds of the lease, its id
-- Returns  the sealed verifier, the device's sealed key and its sealed name

local session, outcome = unpack(KEYS)
local state, service, expires_at, verifier, device_key, lease_id, lease_ends_at, device_name = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.service, FIELD.expires_at, FIELD.verifier, FIELD.device_key, FIELD.lease_id, FIELD.lease_ends_at,
  FIELD.device_name))
if service ~= ARGV[2] or not is_alive(expires_at) then return false end
local is_repeated = state == STATE.exchanging and lease_id == ARGV[4] and now <= tonumber(lease_ends_at)
if state ~= STATE.pending and not is_repeated then return false end
allow_when_full(session)
redis.call('HSET', session, FIELD.state, STATE.exchanging, FIELD.lease_ends_at, now + ARGV[3], FIELD.lease_id, ARGV[4])
-- Replaced when the holder of the lease completes the session.
keep_outcome(outcome, 'failed', expires_at)
return { verifier or '', device_key or '', device_name or '' }
