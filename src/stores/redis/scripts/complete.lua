-- The session has its result, and its polls are notified: those at the instance that asks by the answer.
-- KEYS     session
-- ARGV     clock, service, the states of which it must be in one, sealed result, prefix of the
--          instances' channels, instance that asks, 'error' if the result is one
-- Returns  the poll id if the instance that asks waits, otherwise ''; the same when the
--          call that completed it is repeated, also if the result was delivered
--          meanwhile; nothing if it is not completed
--- @include clock
--- @include expiry
--- @include lease
--- @include notify

local now = read_clock(ARGV[1])
if not now then return too_late() end
local session, required_states, result = KEYS[1], ARGV[3], ARGV[4]
local fields, record = redis.call('HGETALL', session), {}
for i = 1, #fields, 2 do record[fields[i]] = fields[i + 1] end

local state = record[FIELD.state]
if record[FIELD.service] ~= ARGV[2] or not is_alive(record[FIELD.expires_at], now) then return false end
if record[FIELD.result] ~= result then
  if not string.find(required_states, state, 1, true) or is_lapsed(state, record[FIELD.lease_ends_at], now) then return false end
  -- First, because a full store may be told to delete.
  redis.call('HDEL', session, FIELD.verifier, FIELD.device_name)
  local stays = ARGV[7] == 'error' and record[FIELD.keeps_errors]
  redis.call('HSET', session, FIELD.state, stays and STATE.failed or STATE.completed, FIELD.result, result,
    FIELD.completed_at, now)
end
local poll_id = record[FIELD.poll_id]
return notify(fields, ARGV[5], poll_id, ARGV[6]) and poll_id or ''
