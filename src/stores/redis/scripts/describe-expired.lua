-- What the log says of an expired session. Its record is kept for a while after that.
-- KEYS     session
-- ARGV     clock
-- Returns  the service, the state, '1' if the user was redirected to the provider, the id of the sign-in

local service, state, opened_at, sign_in = unpack(redis.call('HMGET', KEYS[1],
  FIELD.service, FIELD.state, FIELD.opened_at, FIELD.sign_in))
return { service or '', state or '', opened_at and '1' or '', sign_in or '' }
