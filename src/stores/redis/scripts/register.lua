-- Registers a session under all its keys, or not at all.
-- KEYS     live sessions, session, poll pointer, user code if there is one
-- ARGV     clock, session id, limit on live sessions, lifetime in ms, value of the pointer,
--          value of the code or '', then names and values of the session's fields
-- Returns  'registered'; 'busy': the limit on live sessions is reached; 'collision': a live
--          session has one of its secrets

-- A pointer or a code begins with the time at which it expires.
local function is_taken(key)
  local value = redis.call('GET', key)
  return value and is_alive(string.match(value, '^%d+'))
end

local live, session, pointer = unpack(KEYS)
local session_id, lifetime = ARGV[2], tonumber(ARGV[4])
local code = ARGV[6] ~= '' and KEYS[4]
local expires_at, kept_ms = now + lifetime, lifetime + LIMIT.garbage_ms

local previous = redis.call('HGET', session, FIELD.expires_at)
if is_alive(previous) or is_taken(pointer) or code and is_taken(code) then return 'collision' end
if redis.call('ZCOUNT', live, now, '+inf') >= tonumber(ARGV[3]) then return 'busy' end

-- The first write takes memory, so a full store refuses the session.
redis.call('ZADD', live, expires_at, session_id)
redis.call('SET', pointer, expires_at .. '.' .. ARGV[5], 'PX', kept_ms)
if code then redis.call('SET', code, expires_at .. '.' .. ARGV[6], 'PX', kept_ms) end
if previous then redis.call('DEL', session) end
redis.call('HSET', session, FIELD.state, STATE.pending, FIELD.started_at, now,
  FIELD.expires_at, expires_at, unpack(ARGV, 7))
redis.call('PEXPIRE', session, kept_ms)

-- One start of twenty removes more expired sessions than twenty add, in case sweeps do
-- not keep up. Later than a sweep would, because only a sweep reports what it removes.
if string.byte(session_id) % 16 == 0 then
  redis.call('PEXPIRE', live, LIMIT.index_ms)
  local expired = redis.call('ZRANGEBYSCORE', live, '-inf', '(' .. (now - LIMIT.garbage_ms), 'LIMIT', 0, LIMIT.swept_at_once)
  if #expired > 0 then redis.call('ZREM', live, unpack(expired)) end
end
return 'registered'
