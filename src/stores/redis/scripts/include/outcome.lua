-- What the user is told who comes back, until the session would have expired, whatever becomes of its record.
local function keep_outcome(key, outcome, expires_at, now)
  redis.call('SET', key, expires_at .. '.' .. outcome, 'PX', expires_at - now + LIMIT.garbage_ms)
end
