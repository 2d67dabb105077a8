-- All scripts, each atomic over all instances. None knows what a session is: they keep records,
-- compare and set. Every key that a script uses is in KEYS, and all are in one slot. ARGV: the name of
-- the script, the clock, and what the script calls its arguments.

-- By the store's clock, so that relays whose clocks differ agree. The argument is 'until <ms>', when
-- the relay stops waiting for the reply; '' sets no limit. A test sends the time itself.
local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.sub(ARGV[2], 7))
  if latest and now > latest then return redis.error_reply('LATE not carried out') end
end

-- A full store refuses a script that takes memory, unless the script has first made a write that
-- takes none, as all but `create` do. Functions would be created at every call, so there is one only.
local script = ARGV[1]

-- Stores a session under all its ids, or not at all. KEYS: live sessions, session, its poll id, its code
-- id if it has a code. Returns the time; 'full'; 'collision' if another session has one of its ids.
if script == 'create' then
  local link_id, max_live, lifetime_ms, kept_ms, index_ms, header, body = unpack(ARGV, 3)
  local live, session, poll, code = unpack(KEYS)
  local started_at, expires_at = tostring(now), tostring(now + lifetime_ms)

  local code_until = code and tonumber(string.match(redis.call('GET', code) or '0', '^%d+'))
  if redis.call('EXISTS', session, poll) > 0 or code and now <= code_until then return 'collision' end
  if redis.call('ZCOUNT', live, started_at, '+inf') >= tonumber(max_live) then return 'full' end

  redis.call('ZADD', live, expires_at, link_id)
  redis.call('PEXPIRE', live, index_ms)
  redis.call('SET', poll, link_id, 'PX', kept_ms)
  if code then redis.call('SET', code, expires_at .. ' ' .. link_id, 'PX', kept_ms) end
  local record = header .. ' ' .. started_at .. ' ' .. expires_at .. ' ' .. body
  redis.call('SET', session, record, 'PX', kept_ms)
  return now
end

-- Replaces the record of a session, unless another commit was faster, and notifies other instances.
-- A record begins with the tokens of all its commits, the newest first. This makes a commit
-- idempotent: one whose token is there has succeeded, and was repeated after a lost reply.
-- KEYS: session, its poll id, live sessions if it changes when it stops being live. `valid_until` is for
-- this change; `live_until` and `channel` may be ''. Returns 1; the time and the record if that is
-- another one; nothing if there is none.
if script == 'commit' then
  local link_id, expected, token, record, valid_until, kept_ms, live_until, channel, message = unpack(ARGV, 3)
  local session, poll, live = unpack(KEYS)
  -- Lua hashes each string whole, so only the tokens are read: those of a session have fewer than 200 characters.
  local tokens = redis.call('GETRANGE', session, '0', '255')
  if tokens == '' then return false end
  if string.find(tokens, token, 1, true) then return 1 end
  local is_newest = string.find(tokens, expected, 1, true) == 1
  if not is_newest or now > tonumber(valid_until) then return { now, redis.call('GET', session) } end

  -- The expiry comes first, which a full store accepts.
  redis.call('PEXPIRE', poll, kept_ms)
  redis.call('SET', session, record, 'PX', kept_ms)
  if live and live_until == '' then redis.call('ZREM', live, link_id) end
  if live and live_until ~= '' then redis.call('ZADD', live, 'XX', live_until, link_id) end
  if channel ~= '' then redis.call('PUBLISH', channel, message) end
  return 1
end

-- Removes sessions that are no longer live from the index. Their records expire by themselves.
-- KEYS: live sessions. Returns their link ids: 250 at most, which takes about a millisecond.
if script == 'sweep' then
  local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. now, 'LIMIT', 0, 250)
  if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
  return ended
end

-- KEYS: live sessions. Returns how many count against the limit.
if script == 'count' then
  return redis.call('ZCOUNT', KEYS[1], now, '+inf')
end

-- A token bucket is one number: when it will be full, in ms. By the arithmetic of
-- stores/memory.ts, to the last bit. A full bucket needs no key.
local function set_full_at(bucket, full_at)
  -- The delete comes first, which a full store accepts: limits hold there too.
  redis.call('DEL', bucket)
  if full_at <= now then return end
  redis.call('SET', bucket, string.format('%.17g', full_at), 'PX', math.ceil(full_at - now))
end

-- KEYS: bucket. Returns 0, or the milliseconds until there is a token.
if script == 'takeToken' then
  local burst, interval_ms = unpack(ARGV, 3)
  local bucket = KEYS[1]
  local full_at = math.max(tonumber(redis.call('GET', bucket) or 0), now) + interval_ms
  local missing_ms = full_at - now - burst * interval_ms
  if missing_ms >= 1 then return math.floor(missing_ms) end
  set_full_at(bucket, full_at)
  return 0
end

-- KEYS: bucket.
if script == 'refundToken' then
  local bucket, interval_ms = KEYS[1], ARGV[3]
  set_full_at(bucket, tonumber(redis.call('GET', bucket) or 0) - interval_ms)
end

-- Gives one of several callers a lease: it alone sends the token to the provider.
-- KEYS: refresh, '<until when, ms>.<id of the caller>.<sealed result>'.
-- Returns {'acquired'}; {'in_progress'}; {'finished', sealed result}.
if script == 'beginRefresh' then
  local lease_ms, caller = unpack(ARGV, 3)
  local value = redis.call('GET', KEYS[1]) or '0..'
  local expires_at, holder, result = string.match(value, '^(%d+)%.([^.]*)%.(.*)$')
  if now <= tonumber(expires_at) then
    if result ~= '' then return { 'finished', result } end
    if holder ~= caller then return { 'in_progress' } end
  end
  -- The delete comes first, which a full store accepts: refreshes work there too.
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], (now + lease_ms) .. '.' .. caller .. '.', 'PX', lease_ms)
  return { 'acquired' }
end

-- KEYS: refresh. The result is sealed; '' releases the lease.
if script == 'finishRefresh' then
  local kept_ms, result = unpack(ARGV, 3)
  redis.call('DEL', KEYS[1])
  if result ~= '' then redis.call('SET', KEYS[1], (now + kept_ms) .. '..' .. result, 'PX', kept_ms) end
end

-- Runs every command that the other scripts run, and leaves nothing behind: what the server refuses
-- is found before a user or a device meets it. KEYS: a key of its own, and another one: in a Cluster
-- they have one slot only if REDIS_URL names it as one. Nobody listens to the channel.
if script == 'probe' then
  local key, channel = KEYS[1], ARGV[3]
  redis.call('SET', key, '')
  redis.call('PEXPIRE', key, 1000)
  redis.call('GET', key)
  redis.call('GETRANGE', key, 0, 0)
  redis.call('EXISTS', key)
  redis.call('DEL', key)
  redis.call('ZADD', key, 0, 'a')
  redis.call('ZCOUNT', key, 0, 0)
  redis.call('ZRANGEBYSCORE', key, 0, 0, 'LIMIT', 0, 1)
  redis.call('ZREM', key, 'a')
  redis.call('PUBLISH', channel, '')
end
