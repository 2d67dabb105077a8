-- Runs every command that the other scripts run, and leaves nothing behind: what the server
-- refuses is found before a user or a device meets it.
-- KEYS     a key of its own, and another one: in a Cluster they have one slot only if REDIS_URL names it as one
-- ARGV     clock, a channel to which nobody listens

local key = KEYS[1]
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
redis.call('PUBLISH', ARGV[2], '')
return 1
