-- A full store refuses what takes memory, unless the script has written something that
-- takes none. What is in progress is brought to its end, and limits hold, so their
-- scripts begin with such a write, or with this one. Only new sessions are refused.
local function allow_when_full(hash)
  redis.call('HDEL', hash, '')
end
