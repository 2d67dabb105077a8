-- A token bucket is one number: when it will be full, in ms. By the arithmetic of
-- relay/rate-limit.ts, to the last bit.
-- Returns when the bucket is full with one token less, and the milliseconds until it has that token.
local function look_into(bucket, burst, interval, now)
  local full_at = math.max(tonumber(redis.call('GET', bucket) or 0), now) + interval
  local missing = full_at - now - burst * interval
  return full_at, missing >= 1 and math.floor(missing) or 0
end

local function fill_at(bucket, full_at, now)
  redis.call('SET', bucket, string.format('%.17g', full_at), 'PX', math.ceil(full_at - now))
end
