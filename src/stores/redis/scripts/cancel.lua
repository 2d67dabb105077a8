-- Cancels the session until it expires: only its service and times are kept. Notifies its polls.
-- KEYS     session
-- ARGV     clock, prefix of the instances' channels
-- Returns  the service the first time, '' when it is repeated; 0 if there is nothing to cancel, or the result was delivered

local session = KEYS[1]
local state, expires_at, repeat_ms, poll_id, service = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.repeat_ms, FIELD.poll_id, FIELD.service))
if not is_alive(expires_at) then return 0 end
if state == STATE.delivered then
  if not repeat_ms then redis.call('DEL', session) end
  return 0
end
allow_when_full(session)
redis.call('HDEL', session, FIELD.verifier, FIELD.result, FIELD.device_name, FIELD.device_key,
  FIELD.lease_ends_at, FIELD.lease_id, FIELD.sign_in, FIELD.completed_at)
redis.call('HSET', session, FIELD.state, STATE.cancelled)
notify(redis.call('HGETALL', session), ARGV[2], poll_id)
return state ~= STATE.cancelled and service or ''
