-- The device is told once that the user was led on to the provider. Before that its polls are notified of it.
-- KEYS     session
-- ARGV     clock
-- Returns  1 once
--- @include clock
--- @include expiry
--- @include lease
--- @include memory

local now = read_clock(ARGV[1])
if not now then return too_late() end
local session = KEYS[1]
local state, expires_at, opened_at, opening, lease_ends_at = unpack(redis.call('HMGET', session,
  FIELD.state, FIELD.expires_at, FIELD.opened_at, FIELD.opening, FIELD.lease_ends_at))
if state ~= STATE.pending and state ~= STATE.exchanging or not is_alive(expires_at, now) then return 0 end
if is_lapsed(state, lease_ends_at, now) then return 0 end
local next = opened_at and OPENING.told or OPENING.asked
if opening == OPENING.told or opening == next then return 0 end
allow_when_full(session)
redis.call('HSET', session, FIELD.opening, next)
return opened_at and 1 or 0
