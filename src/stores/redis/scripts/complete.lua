-- The session has its result, and its polls are notified.
-- KEYS     session
-- ARGV     clock, service, the state it must be in, sealed result, prefix of the
--          instances' channels, 'error' if the result is one
-- Returns  1; the same when the call that completed it is repeated, also if the
--          result was delivered meanwhile
--- @include clock
--- @include expiry
--- @include lease
--- @include memory
--- @include waiting

local now = read_clock(ARGV[1])
if not now then return too_late() end
local session, required_state, new_result = KEYS[1], ARGV[3], ARGV[4]
local state, service, expires_at, lease_ends_at, result, keeps_errors, poll_id = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.service, FIELD.expires_at, FIELD.lease_ends_at, FIELD.result, FIELD.keeps_errors, FIELD.poll_id))
if service ~= ARGV[2] or not is_alive(expires_at, now) then return 0 end
if result ~= new_result then
  if state ~= required_state or is_lapsed(state, lease_ends_at, now) then return 0 end
  allow_when_full(session)
  local stays = ARGV[6] == 'error' and keeps_errors
  redis.call('HSET', session, FIELD.state, stays and STATE.failed or STATE.completed, FIELD.result, new_result,
    FIELD.completed_at, now)
  redis.call('HDEL', session, FIELD.verifier, FIELD.device_name)
end
notify(session, ARGV[5], poll_id)
return 1
