-- Reports once that the user was redirected to the provider. Called before that, it asks for its polls to be notified.
-- KEYS     session
-- ARGV     clock
-- Returns  1 the first time after that, else 0

local session = KEYS[1]
local state, expires_at, opened_at, opening, lease_ends_at = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.opened_at, FIELD.opening, FIELD.lease_ends_at))
if state ~= STATE.pending and state ~= STATE.exchanging or not is_alive(expires_at) then return 0 end
if is_lapsed(state, lease_ends_at) then return 0 end
local next = opened_at and OPENING.reported or OPENING.asked
if opening == OPENING.reported or opening == next then return 0 end
allow_when_full(session)
redis.call('HSET', session, FIELD.opening, next)
return opened_at and 1 or 0
