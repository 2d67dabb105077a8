-- A lease that ran out means that its holder failed.
local function is_lapsed(state, lease_ends_at, now)
  return state == STATE.exchanging and now > tonumber(lease_ends_at)
end
