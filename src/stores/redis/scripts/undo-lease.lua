-- Undoes a lease that has not run out.
-- KEYS     session
-- ARGV     clock, service, id of the lease
-- Returns  1 if it was held under that id

local session = KEYS[1]
local state, service, expires_at, lease_ends_at, lease_id = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.service, FIELD.expires_at, FIELD.lease_ends_at, FIELD.lease_id))
if service ~= ARGV[2] or not is_alive(expires_at) then return 0 end
if state ~= STATE.exchanging or lease_id ~= ARGV[3] or is_lapsed(state, lease_ends_at) then return 0 end
redis.call('HDEL', session, FIELD.lease_ends_at, FIELD.lease_id)
redis.call('HSET', session, FIELD.state, STATE.pending)
return 1
