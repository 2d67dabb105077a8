-- Begins every script whose first key is a session. A newer relay may mean something else by the fields.

local version = redis.call('HGET', KEYS[1], FIELD.version)
if version and tonumber(version) > LIMIT.record_version then return redis.error_reply('NEWER record') end
