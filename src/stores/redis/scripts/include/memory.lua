-- A full store refuses what takes memory, unless the script has begun with a write
-- that takes none. What is in progress is brought to its end, and limits hold, so
-- those scripts begin with this. Only new sessions are refused.
local function allow_when_full(hash)
  redis.call('HDEL', hash, '')
end
