-- Begins every script. `now` is by the store's clock, so that relays whose clocks differ agree.
-- ARGV[1] is 'until <ms>', when the relay stops waiting for the reply; '' sets no limit. A test
-- sends the time itself. A full store refuses a script that takes memory, unless the script has
-- first made a write that takes none, as all but create.lua do.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  local latest = tonumber(string.sub(ARGV[1], 7))
  if latest and now > latest then return redis.error_reply('LATE not carried out') end
end
