-- Stores the result of the session and notifies its polls: those of the instance that asks by the reply.
-- KEYS     session, its outcome
-- ARGV     clock, service, the states that accept it, sealed result, prefix of the
--          instances' channels, instance that asks, the outcome
-- Returns  the poll id if the instance that asks waits, otherwise ''; the same when the
--          call that completed it is repeated, also if the result was delivered
--          meanwhile; nothing if it is not completed

local session, required_states, result, outcome = KEYS[1], ARGV[3], ARGV[4], ARGV[7]
local fields, record = redis.call('HGETALL', session), {}
for i = 1, #fields, 2 do record[fields[i]] = fields[i + 1] end

local state = record[FIELD.state]
if record[FIELD.service] ~= ARGV[2] or not is_alive(record[FIELD.expires_at]) then return false end
if record[FIELD.result] ~= result then
  if not string.find(required_states, state, 1, true) or is_lapsed(state, record[FIELD.lease_ends_at]) then return false end
  -- The delete comes first, which a full store accepts.
  redis.call('HDEL', session, FIELD.verifier, FIELD.device_name)
  local stays = outcome ~= 'signed_in' and record[FIELD.keeps_errors]
  redis.call('HSET', session, FIELD.state, stays and STATE.failed or STATE.completed, FIELD.result, result,
    FIELD.completed_at, now)
  keep_outcome(KEYS[2], outcome, record[FIELD.expires_at])
end
local poll_id = record[FIELD.poll_id]
return notify(fields, ARGV[5], poll_id, ARGV[6]) and poll_id or ''
