-- Begins every script: the time, and what several scripts use.

-- `now` is by the store's clock, so that relays whose clocks differ agree. ARGV[1] is
-- 'until <ms>', when the relay stops waiting for the answer; '' sets no limit. A test
-- sends the time itself.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.match(ARGV[1], '%d+'))
  if latest and now > latest then return redis.error_reply('LATE not carried out') end
end

-- The record decides whether it has expired. The key's time to live only frees memory.
local function is_alive(expires_at)
  return expires_at and now <= tonumber(expires_at)
end

-- A lease that ran out means that its holder failed.
local function is_lapsed(state, lease_ends_at)
  return state == STATE.exchanging and now > tonumber(lease_ends_at)
end

-- A full store refuses a script that takes memory, unless the script has first made a write
-- that takes none. Only new sessions are refused: all other scripts begin with such a write,
-- or with this one.
local function allow_when_full(hash)
  redis.call('HDEL', hash, '')
end

-- Publishes to the instances that wait. `fields` are all names and values of the session,
-- `channels` is the prefix of the instances' channels. Not to `asking`, the instance that
-- runs the script, if it is given: returns whether that one waits.
local function notify(fields, channels, message, asking)
  local asking_waits = false
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == FIELD.waiting then
      local instance = string.sub(fields[i], 3)
      if instance == asking then
        asking_waits = true
      else
        redis.call('PUBLISH', channels .. instance, message)
      end
    end
  end
  return asking_waits
end

-- The outcome for pages. It is known until the session would have expired, also when its record is removed.
local function keep_outcome(key, outcome, expires_at)
  redis.call('SET', key, expires_at .. '.' .. outcome, 'PX', expires_at - now + LIMIT.garbage_ms)
end
