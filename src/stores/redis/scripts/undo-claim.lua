-- Undoes a claim, and notifies the polls of the session.
-- KEYS     session, poll pointer, live sessions
-- ARGV     clock, claim, session id, prefix of the instances' channels
-- Returns  1 if the result was delivered to that claim

local session, pointer, live = unpack(KEYS)
local undone, session_id = ARGV[2], ARGV[3]
local state, claimed_by, expires_at, expires_at_before, poll_id = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.claimed_by, FIELD.expires_at, FIELD.expires_at_before, FIELD.poll_id))
if state ~= STATE.delivered or claimed_by ~= undone then return 0 end

expires_at = tonumber(expires_at_before or expires_at)
local kept_ms = expires_at - now + LIMIT.garbage_ms
redis.call('HDEL', session, FIELD.claimed_by, FIELD.expires_at_before)
redis.call('HSET', session, FIELD.state, STATE.completed, FIELD.expires_at, expires_at)
redis.call('ZADD', live, expires_at, session_id)
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, kept_ms) end
notify(redis.call('HGETALL', session), ARGV[4], poll_id)
return 1
