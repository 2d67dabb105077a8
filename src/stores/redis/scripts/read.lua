-- KEYS     session
-- ARGV     clock
-- Returns  the time and the record; nothing if there is none

local record = redis.call('GET', KEYS[1])
return record and { now, record }
