-- The device has its result, which is removed.
-- KEYS     session, poll pointer, live sessions
-- ARGV     clock, session id
-- Returns  acknowledged | early | gone

local session, pointer, live = unpack(KEYS)
local state, expires_at, repeat_ms = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.repeat_ms))
if not state or state == STATE.cancelled or not is_alive(expires_at) then return 'gone' end
if state ~= STATE.delivered then return 'early' end
if not repeat_ms then return 'gone' end
redis.call('DEL', session, pointer)
redis.call('ZREM', live, ARGV[2])
return 'acknowledged'
