-- Gives one of any number of callers the turn to send the token to the provider.
-- KEYS     refresh: '<until when, ms>.<id of the caller>.<sealed result>'
-- ARGV     clock, milliseconds of the turn, id of the caller
-- Returns  {'yours'}; {'in_progress'}; {'finished', sealed result}

local refresh, turn_ms, caller = KEYS[1], ARGV[2], ARGV[3]
local value = redis.call('GET', refresh) or '0..'
local expires_at, holder, result = string.match(value, '^(%d+)%.([^.]*)%.(.*)$')
if now <= tonumber(expires_at) then
  if result ~= '' then return { 'finished', result } end
  if holder ~= caller then return { 'in_progress' } end
end
-- The delete comes first, which a full store accepts: refreshes work there too.
redis.call('DEL', refresh)
redis.call('SET', refresh, (now + turn_ms) .. '.' .. caller .. '.', 'PX', turn_ms)
return { 'yours' }
