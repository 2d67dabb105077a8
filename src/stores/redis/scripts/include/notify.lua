-- `fields` are all names and values of the session, `channels` is the prefix of the instances' channels.
-- Not published to the instance that asks, if it is given: returns whether that one waits.
local function notify(fields, channels, message, asking)
  local asking_waits = false
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == FIELD.waiting then
      local instance = string.sub(fields[i], 3)
      if instance == asking then
        asking_waits = true
      else
        redis.call('PUBLISH', channels .. instance, message)
      end
    end
  end
  return asking_waits
end
