-- The instance is notified of what happens to the session.
local function wait_for(session, instance)
  redis.call('HSET', session, FIELD.waiting .. instance, '')
end

-- `channels` is the prefix of the instances' channels.
local function notify(session, channels, message)
  local names_and_values = redis.call('HGETALL', session)
  for i = 1, #names_and_values, 2 do
    local name = names_and_values[i]
    if string.sub(name, 1, 2) == FIELD.waiting then
      redis.call('PUBLISH', channels .. string.sub(name, 3), message)
    end
  end
end
