-- Signs a user in through a Sign-in Relay. LuaJIT, LuaSocket and LuaSec, as KOReader has them; elsewhere lua-cjson too.
--
--     luajit sign_in.lua https://relay.example mal
--     luajit sign_in.lua https://relay.example spotify AUTHORIZATION_URL TOKEN_URL CLIENT_ID
local ffi = require('ffi')
local socket = require('socket')
local ssl = require('ssl')
local has_json, json = pcall(require, 'json')
if not has_json then json = require('cjson') end

local WAIT_SECONDS = 25 -- The relay holds a poll this long. Some proxies cut a request after 30 s.
local TELL_SECONDS = 5 -- Nobody has to wait long for an acknowledgement or a cancellation.
local TRIES = 6 -- For all but a poll, which is repeated until the link expires.
local LINKS = 3 -- A link that has expired is replaced, but not for ever on a forgotten screen.
local MARGIN_SECONDS = 60 -- Tokens are refreshed this long before they expire, or halfway if that is later.
local MAX_BYTES = 65536 -- More than any response of a relay: one that never ends fills no memory.

local M = {
  -- The CAs that are trusted.
  ca_file = '/etc/ssl/certs/ca-certificates.crt',
  -- Runs about 20 times a second whenever the program waits: here it sleeps; in KOReader it is coroutine.yield.
  tick = function() socket.sleep(0.05) end,
  -- Asked as often while the user signs in. At other times nothing may be interrupted.
  is_cancelled = function() return false end,
}

-- Raises a table. code: access_denied, authorization_failed, missing_code (from the relay), exchange_failed,
-- expired, cancelled, refused, unreachable, not_saved (the next calls return the tokens), invalid_grant (refresh
-- only: sign in again).
local function fail(code, detail)
  local text = (detail or '') ~= '' and code .. ': ' .. detail or code
  error(setmetatable({ code = code }, { __tostring = function() return text end }), 0)
end

-- KOReader may have declared them already.
pcall(ffi.cdef, 'int clock_gettime(int, void *);')
pcall(ffi.cdef, 'unsigned umask(unsigned);')

-- Seconds of the monotonic clock (CLOCK_MONOTONIC).
local function now()
  local time = ffi.new('long[2]')
  ffi.C.clock_gettime(1, ffi.cast('void *', time))
  return tonumber(time[0]) + tonumber(time[1]) / 1e9
end

local is_waiting_for_user = false

local function tick()
  M.tick()
  if is_waiting_for_user and M.is_cancelled() then fail('cancelled') end
end

local function pause(seconds)
  local ends_at = now() + seconds
  while now() < ends_at do tick() end
end

local function random(count)
  local file = assert(io.open('/dev/urandom', 'rb'))
  local bytes = file:read(count)
  file:close()
  return bytes
end

local function sha256(text)
  local is_koreader, sha2 = pcall(require, 'ffi/sha2')
  if is_koreader then
    return (sha2.sha256(text):gsub('..', function(hex) return string.char(tonumber(hex, 16)) end))
  end
  pcall(ffi.cdef, 'unsigned char *SHA256(const char *, size_t, unsigned char *);')
  local digest = ffi.new('unsigned char[32]')
  ffi.load('libcrypto.so.3').SHA256(text, #text, digest)
  return ffi.string(digest, 32)
end

local function base64url(bytes)
  return (require('mime').b64(bytes):gsub('[+/=]', { ['+'] = '-', ['/'] = '_', ['='] = '' }))
end

local function quote(text)
  return (text:gsub('[^%w._~-]', function(each) return ('%%%02X'):format(each:byte()) end))
end

local function form_of(members)
  local fields = {}
  for name, value in pairs(members) do table.insert(fields, name .. '=' .. quote(value)) end
  return table.concat(fields, '&')
end

-- LuaSec checks who signed a certificate, but not whose it is.
local function is_for(host, certificate)
  local names = (certificate:extensions()['2.5.29.17'] or {}).dNSName or {}
  for _, name in ipairs(names) do
    local parent = name:lower():match('^%*(%..+)$')
    if name:lower() == host:lower() or (parent and host:lower():match('^[^.]+(.+)$') == parent) then return true end
  end
  return false
end

local function secure(plain, host)
  local options = { mode = 'client', protocol = 'any', verify = 'peer', cafile = M.ca_file, options = { 'all', 'no_sslv3' } }
  local stream = assert(ssl.wrap(plain, options))
  stream:sni(host)
  assert(stream:dohandshake())
  if not is_for(host, stream:getpeercertificate()) then error('the certificate is of another host') end
  return stream
end

-- Returns status, headers and text, or nil if there is more to come. Raises an error if it was cut off.
local function parse(received, is_over)
  local head, content = received:match('^(.-)\r\n\r\n(.*)$')
  local headers = {}
  for name, value in (head or ''):gmatch('\r\n([^:]+):%s*([^\r]*)') do headers[name:lower()] = value end
  local length = tonumber(headers['content-length'])
  local is_whole = length and head and #content >= length or not length and head and is_over
  if is_whole then return tonumber(head:match('^HTTP/%S+ (%d%d%d)')), headers, content end
  if is_over then error('cut off') end
end

-- By HTTP/1.0, in which no response comes in chunks.
local function request(plain, url, body, timeout)
  local ends_at = now() + timeout
  local scheme, host, port, path = url:match('^(https?)://([^:/]+):?(%d*)(/.*)$')
  plain:settimeout(timeout) -- For the connection, the handshake and the request.
  assert(plain:connect(host, tonumber(port) or (scheme == 'https' and 443 or 80)))
  local stream = scheme == 'https' and secure(plain, host) or plain
  local is_form = type(body) == 'string'
  local content = is_form and body or body and json.encode(body) or ''
  assert(stream:send(table.concat({
    (body and 'POST ' or 'GET ') .. path .. ' HTTP/1.0',
    'Host: ' .. host .. (port ~= '' and ':' .. port or ''),
    'Content-Type: application/' .. (is_form and 'x-www-form-urlencoded' or 'json'),
    'Content-Length: ' .. #content,
    '', content,
  }, '\r\n')))
  stream:settimeout(0)
  local received = ''
  while true do
    local all, problem, part = stream:receive(4096)
    received = received .. (all or part or '')
    local status, headers, text = parse(received, problem == 'closed')
    if status then return status, headers, text end
    if #received > MAX_BYTES or now() > ends_at then error('too much, or too late') end
    if not all then tick() end
  end
end

-- A JSON null is no text either.
local function text_in(value) return type(value) == 'string' and value ~= '' and value or nil end

-- Some providers send text, or a fraction. What is no time counts as left out.
local function seconds_in(value)
  local seconds = math.floor(tonumber(value) or 0)
  return seconds > 0 and seconds < 1e10 and seconds or nil
end

-- Returns status, JSON object, text to show, and seconds to pause before a retry. Status 0: no complete response.
local function ask(url, body, timeout)
  local seconds = 1 + random(1):byte() / 128 -- So that a thousand devices do not return at the same moment.
  local plain = socket.tcp()
  local is_answered, status, headers, text = pcall(request, plain, url, body, timeout or WAIT_SECONDS + 15)
  plain:close()
  if not is_answered then
    if type(status) == 'table' then error(status, 0) end -- Of tick.
    return 0, {}, '', seconds
  end
  local is_json, answer = pcall(json.decode, text)
  is_json = is_json and type(answer) == 'table'
  if not is_json then answer = {} end -- A page of a proxy.
  -- JSON and a 200 may hold tokens: of those only `error` is shown.
  local shown = (is_json or status == 200) and (text_in(answer.error) or '') or text:sub(1, 100):match('^%s*(.-)%s*$')
  return status, answer, shown, seconds + math.min(tonumber((headers['retry-after'] or ''):match('^%d+$')) or 0, 60)
end

-- Returns the JSON object of a 200 that has the member, or if_missing of a 404. Tries again what may pass.
local function ask_until_answered(url, body, member, if_missing)
  local status, answer, text, seconds
  for try = 1, TRIES do
    if try > 1 then pause(seconds) end
    status, answer, text, seconds = ask(url, body)
    if status == 200 and answer[member] then return answer end
    if status == 404 and if_missing then return if_missing end
    if status >= 400 and status < 500 and status ~= 429 then
      local code = text_in(answer.error)
      fail(code or 'refused', not code and text or nil)
    end
  end
  fail('unreachable', status == 0 and url or nil)
end

-- By name: nothing else of the relay is kept, such as an address that tokens would be sent to.
local function tokens_from_relay(answer)
  local refresh_token, expires_in = text_in(answer.refreshToken), seconds_in(answer.expiresIn)
  return { accessToken = answer.accessToken, refreshToken = refresh_token, expiresIn = expires_in }
end

-- RFC 6749 section 5.1. The tokens are refreshed there too.
local function tokens_from_provider(answer, url, client_id)
  return {
    accessToken = answer.access_token, refreshToken = text_in(answer.refresh_token),
    expiresIn = seconds_in(answer.expires_in), tokenUrl = url, clientId = client_id,
  }
end

-- A code works once (RFC 6749 section 4.1.2): it is sent again only if there was no response, and once.
local function exchange(code, verifier)
  local form = form_of({
    grant_type = 'authorization_code', code = code.code, code_verifier = verifier,
    redirect_uri = code.redirectUri, client_id = code.clientId,
  })
  local status, answer, text, seconds = ask(code.tokenUrl, form)
  if status == 0 then
    pause(seconds)
    status, answer, text = ask(code.tokenUrl, form)
  end
  if status ~= 200 or not text_in(answer.access_token) then fail('exchange_failed', text) end
  return tokens_from_provider(answer, code.tokenUrl, code.clientId)
end

-- Whether this device may exchange the code itself, so that the relay sees no token.
-- Older relays do not say, or have no /services.
local function can_be_blind(relay, service)
  local answer = ask_until_answered(relay .. '/services', nil, 'services', { services = {} })
  for _, each in ipairs(answer.services) do
    if each.service == service then return each.blind == 'can' or each.blind == 'must' end
  end
  return false
end

local function tell(session, query)
  for _ = 1, TRIES do
    local status, _, _, seconds = ask(session.result .. '&' .. query, nil, TELL_SECONDS)
    if status == 204 or status == 400 or status == 410 then return end
    pause(seconds)
  end
end

local function wait_for(member, session)
  while true do
    local status, answer, text, seconds = ask(session.result .. '&wait=' .. WAIT_SECONDS)
    if status == 200 and answer.error then fail(answer.error) end
    if status == 200 and answer[member] then return answer end
    if status == 400 then fail('refused', text) end
    -- The relay decides when the link has expired. The time here ends only polls that fail.
    if status == 410 or (status ~= 204 and session.seconds_left() == 0) then fail('expired') end
    -- 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
    pause(status == 204 and 1 or seconds)
  end
end

-- Of the callback of an open sign-in, as the provider sent it (RFC 6749 section 4.1.2, RFC 9207).
local function code_of(answer, state, client)
  local callback = answer.callback
  local is_other = client.issuer and callback.iss and callback.iss ~= client.issuer
  if callback.state ~= state or is_other then fail('refused', 'the callback is of another sign-in or provider') end
  return { code = callback.code, redirectUri = answer.redirectUri, tokenUrl = client.tokenUrl, clientId = client.clientId }
end

-- By path: tokens that could not be saved. The app goes on with them; each call tries to save them.
local unsaved = {}

-- Readable by this user only, and never half written.
local function save_tokens(path, tokens)
  if tokens.expiresIn then tokens.expiresAt = tokens.expiresAt or os.time() + tokens.expiresIn end
  unsaved[path] = tokens
  local umask = ffi.C.umask(63) -- 077 in octal.
  local file, problem = io.open(path .. '.new', 'w')
  ffi.C.umask(umask)
  if not file then fail('not_saved', problem) end
  local is_written = file:write(json.encode(tokens))
  if not (file:close() and is_written and os.rename(path .. '.new', path)) then
    os.remove(path .. '.new')
    fail('not_saved', path)
  end
  unsaved[path] = nil
  return tokens
end

local function load_tokens(path)
  local kept = unsaved[path]
  if kept then
    pcall(save_tokens, path, kept)
    return kept
  end
  local file = io.open(path)
  if not file then return {} end
  local text = file:read('*a')
  file:close()
  local is_json, saved = pcall(json.decode, text or '')
  return is_json and type(saved) == 'table' and saved or {}
end

-- Where the provider names no expiry, only its API says it, with a 401.
local function is_due(tokens)
  if not (tokens.expiresAt and tokens.expiresIn) then return false end
  local left, margin = tokens.expiresAt - os.time(), math.min(MARGIN_SECONDS, tokens.expiresIn / 2)
  -- More than they ever had: the clock was set back since they were saved.
  return left <= margin or left > tokens.expiresIn
end

local function refresh(relay, service, saved)
  local tokens
  if saved.tokenUrl then -- The device exchanged the code itself.
    local form = { grant_type = 'refresh_token', refresh_token = saved.refreshToken, client_id = saved.clientId }
    local answer = ask_until_answered(saved.tokenUrl, form_of(form), 'access_token')
    tokens = tokens_from_provider(answer, saved.tokenUrl, saved.clientId)
  else
    local body = { service = service, refreshToken = saved.refreshToken }
    tokens = tokens_from_relay(ask_until_answered(relay .. '/refresh', body, 'accessToken'))
  end
  tokens.refreshToken = tokens.refreshToken or saved.refreshToken -- Without a new one the old one stays.
  return tokens
end

local function sign_in(relay, service, path, show, client)
  local verifier, state = base64url(random(32)), base64url(random(16))
  local challenge = base64url(sha256(verifier))
  local body = { code = true, ack = true, device = 'E-reader' }
  if client then
    local query = form_of({
      response_type = 'code', client_id = client.clientId, state = state,
      code_challenge = challenge, code_challenge_method = 'S256',
    })
    body.authorizationUrl = client.authorizationUrl .. (client.authorizationUrl:find('?', 1, true) and '&' or '?') .. query
  else
    body.service = service
    body.challenge = can_be_blind(relay, service) and challenge or nil
  end
  local started = ask_until_answered(relay .. (client and '/open' or '/auth/start'), body, 'link')
  local ends_at = now() + started.expiresIn -- The device's clock may not be set yet.
  local session = {
    link = started.link, user_code = started.userCode, qr = started.qr, code_address = relay .. '/link',
    seconds_left = function() return math.max(0, math.floor(ends_at - now())) end,
    -- The poll secret is only for this device: never show it, log it or put it into a link.
    result = relay .. '/auth/result?session=' .. quote(started.session),
  }
  show(session)
  local member = client and 'callback' or body.challenge and 'code' or 'accessToken'
  is_waiting_for_user = true
  local is_answered, answer = pcall(wait_for, member, session)
  is_waiting_for_user = false
  if not is_answered then
    if answer.code == 'cancelled' then tell(session, 'cancel=1') end -- The link then says so.
    error(answer, 0)
  end
  if client then answer = code_of(answer, state, client) end
  local tokens = member == 'accessToken' and tokens_from_relay(answer) or exchange(answer, verifier)
  save_tokens(path, tokens)
  tell(session, 'ack=1') -- Only now: until then a lost response, or a crash, costs no sign-in.
  return tokens
end

-- Tokens that are valid: the saved ones, refreshed if they are due, or those of a new sign-in, whose link
-- `show(session)` shows. client: of an open sign-in, a table of authorizationUrl, tokenUrl, clientId, and issuer
-- if it is known. rejected: an access token that the provider's API answered with 401. Raises what `fail` does.
function M.tokens_for(relay, service, path, show, client, rejected)
  local saved = load_tokens(path)
  if saved.accessToken and saved.accessToken ~= rejected and not is_due(saved) then return saved end
  if saved.refreshToken then
    local is_fresh, fresh = pcall(refresh, relay, service, saved)
    if is_fresh then return save_tokens(path, fresh) end
    if fresh.code ~= 'invalid_grant' then error(fresh, 0) end -- The saved tokens stay: try later.
    unsaved[path] = nil
  end
  for link = 1, LINKS do
    local is_signed_in, tokens = pcall(sign_in, relay, service, path, show, client)
    if is_signed_in then return tokens end
    if tokens.code ~= 'expired' or link == LINKS then error(tokens, 0) end
  end
end

if ... == 'sign_in' then return M end

if #arg ~= 2 and #arg ~= 5 then
  print('Usage: luajit sign_in.lua RELAY SERVICE [AUTHORIZATION_URL TOKEN_URL CLIENT_ID]')
  os.exit(1)
end
local keyboard = { getfd = function() return 0 end, dirty = function() return false end }
local is_closed = false
function M.is_cancelled()
  if is_closed or #socket.select({ keyboard }, nil, 0) == 0 then return false end
  is_closed = io.read('*l') == nil
  return not is_closed
end
local function show(session)
  print('Open ' .. session.link)
  print('or type ' .. session.user_code .. ' at ' .. session.code_address)
  io.stdout:flush()
end
local client = arg[3] and { authorizationUrl = arg[3], tokenUrl = arg[4], clientId = arg[5] }
local relay = arg[1]:gsub('/+$', '')
local function provide_tokens() return M.tokens_for(relay, arg[2], 'tokens-' .. arg[2] .. '.json', show, client) end
local is_signed_in, problem = pcall(provide_tokens)
if next(unsaved) then io.stderr:write(tostring(problem), '\nTrying again until Ctrl-C.\n') end
while next(unsaved) do -- They would be lost if the program ended.
  socket.sleep(5)
  is_signed_in, problem = pcall(provide_tokens)
end
print(is_signed_in and 'Signed in.' or tostring(problem))
os.exit(is_signed_in and 0 or problem.code == 'cancelled' and 130 or 1)
