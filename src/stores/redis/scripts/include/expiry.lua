-- The record decides whether it has expired. The key's time to live only frees memory.
local function is_alive(expires_at, now)
  return expires_at and now <= tonumber(expires_at)
end
