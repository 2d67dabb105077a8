-- Delivers the result to one poll. If there is none yet, registers the poll's instance to be notified.
-- KEYS     session, poll pointer, live sessions
-- ARGV     clock, claim, instance, session id
--          A repeated claim gets the same answer.
-- Returns  {'gone'}; {'pending', milliseconds until it has expired or its lease has run out};
--          {'claimed', sealed result, 'once' | 'kept', service, milliseconds since the result was stored}
--          The last two are absent if the result was delivered before.
--          'kept': later claims get it too.

local session, pointer, live = unpack(KEYS)
local claim, instance, session_id = ARGV[2], ARGV[3], ARGV[4]
local state, expires_at, lease_ends_at, result, claimed_by, repeat_ms, keeps_errors, service, completed_at = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.lease_ends_at, FIELD.result, FIELD.claimed_by, FIELD.repeat_ms, FIELD.keeps_errors,
  FIELD.service, FIELD.completed_at))
if not state or state == STATE.cancelled or not is_alive(expires_at) then return { 'gone' } end

local waited_ms = completed_at and now - tonumber(completed_at) or 0
local lapsed = is_lapsed(state, lease_ends_at)
if state == STATE.failed or lapsed and keeps_errors then return { 'claimed', result or '', 'kept' } end

if state == STATE.delivered then
  if repeat_ms then return { 'claimed', result, 'kept' } end
  if claimed_by == claim then return { 'claimed', result, 'once', service, waited_ms } end
  return { 'gone' }
end

if state ~= STATE.completed and not lapsed then
  -- From now on the instance is notified of changes of the session.
  allow_when_full(session)
  redis.call('HSET', session, FIELD.waiting .. instance, '')
  local ends_at = state == STATE.exchanging and math.min(expires_at, lease_ends_at) or expires_at
  return { 'pending', ends_at + 1 - now }
end

-- The expiry comes first, which a full store accepts.
local stays_ms = repeat_ms and tonumber(repeat_ms) or LIMIT.claim_repeat_ms
redis.call('PEXPIRE', session, stays_ms)
redis.call('PEXPIRE', pointer, stays_ms)
-- An empty result is that of a lease that ran out.
redis.call('HSET', session, FIELD.state, STATE.delivered, FIELD.claimed_by, claim, FIELD.result, result or '')
if not repeat_ms then
  redis.call('ZREM', live, session_id)
  return { 'claimed', result or '', 'once', service, waited_ms }
end
redis.call('HSET', session, FIELD.expires_at, now + stays_ms)
redis.call('ZADD', live, 'XX', now + stays_ms, session_id)
return { 'claimed', result or '', 'kept', service, waited_ms }
