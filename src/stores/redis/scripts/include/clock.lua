-- The clock is the store's, so that relays whose clocks differ agree.
-- `clock` is 'until <ms>': later than that nobody waits for the answer any more.
-- '' has no such limit. A test sends the time itself.
-- Returns the milliseconds, or nil when it is too late.
local function read_clock(clock)
  local given = tonumber(clock)
  if given then return given end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.match(clock, '%d+'))
  if latest and now > latest then return nil end
  return now
end

local function too_late()
  return redis.error_reply('LATE not carried out')
end
