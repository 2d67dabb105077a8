-- A session comes into the store with all that leads to it, or not at all.
-- KEYS     live sessions, session, poll pointer, user code if there is one, rate limit's bucket if there is one
-- ARGV     clock, session id, most live sessions, lifetime in ms, value of the pointer,
--          value of the code or '', the bucket's burst or '', milliseconds for its token,
--          then names and values of the session's fields
-- Returns  'registered'; 'busy': as many are alive as may be; 'collision': a live session has
--          one of its secrets; the milliseconds until the bucket has a token
--- @include bucket
--- @include clock
--- @include expiry

-- A pointer or a code begins with the time at which it expires.
local function is_taken(key, now)
  local value = redis.call('GET', key)
  return value and is_alive(string.match(value, '^%d+'), now)
end

local now = read_clock(ARGV[1])
if not now then return too_late() end
local live, session, pointer = unpack(KEYS)
local session_id, lifetime = ARGV[2], tonumber(ARGV[4])
local code = ARGV[6] ~= '' and KEYS[4]
local burst, bucket = tonumber(ARGV[7]), KEYS[#KEYS]
local expires_at, kept_ms = now + lifetime, lifetime + LIMIT.garbage_ms

local full_at, wait_ms
if burst then
  full_at, wait_ms = look_into(bucket, burst, tonumber(ARGV[8]), now)
  if wait_ms > 0 then return wait_ms end
end

local previous = redis.call('HGET', session, FIELD.expires_at)
local refusal
if is_alive(previous, now) or is_taken(pointer, now) or code and is_taken(code, now) then
  refusal = 'collision'
elseif redis.call('ZCOUNT', live, now, '+inf') >= tonumber(ARGV[3]) then
  refusal = 'busy'
end
if refusal then
  -- First, because a full store may be told to delete: limits hold there too.
  if burst then
    redis.call('DEL', bucket)
    fill_at(bucket, full_at, now)
  end
  return refusal
end

-- This takes memory and is the first to write, so a full store refuses the session.
redis.call('ZADD', live, expires_at, session_id)
if burst then fill_at(bucket, full_at, now) end
redis.call('SET', pointer, expires_at .. '.' .. ARGV[5], 'PX', kept_ms)
if code then redis.call('SET', code, expires_at .. '.' .. ARGV[6], 'PX', kept_ms) end
if previous then redis.call('DEL', session) end
redis.call('HSET', session, FIELD.state, STATE.pending, FIELD.started_at, now,
  FIELD.expires_at, expires_at, unpack(ARGV, 9))
redis.call('PEXPIRE', session, kept_ms)

-- One start of twenty removes more expired sessions than twenty add, or they would pile
-- up where a sweep does not keep up. Later than a sweep, which tells of what it removes.
if string.byte(session_id) % 16 == 0 then
  redis.call('PEXPIRE', live, LIMIT.index_ms)
  local expired = redis.call('ZRANGEBYSCORE', live, '-inf', '(' .. (now - LIMIT.garbage_ms), 'LIMIT', 0, LIMIT.swept_at_once)
  if #expired > 0 then redis.call('ZREM', live, unpack(expired)) end
end
return 'registered'
