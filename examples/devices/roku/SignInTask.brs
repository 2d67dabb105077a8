' A Task node over SignIn.brs, since roUrlTransfer needs a thread of its own. It adds tokens that are kept and
' refreshed when they are due, a new link for one that has expired, a countdown, and Back.
' SignInTask.xml has its fields:
'   relay, service     https://relay.example, mal
'   rejected           an access token that the provider's API answered with 401
'   cancel             set it to true on Back
'   prompt             show link, userCode with codeAddress, and a Poster with the picture at qr
'   secondsLeft        once a second
'   outcome            { tokens } or { error, detail }. After not_saved run this node again, which has the tokens
'   unsaved            tokens that could not be saved: each run tries it again

sub init()
    m.top.functionName = "provideTokens"
    m.WAIT_SECONDS = 25 ' The relay holds a poll this long. Some proxies cut a request after 30 s.
    ' There is no timeout of the transfer as a whole: a connection that died while the device slept would hang.
    m.TIMEOUT_SECONDS = m.WAIT_SECONDS + 15
    m.SHORT_TIMEOUT_SECONDS = 5 ' To acknowledge and cancel: the user waits, and the relay forgets in 60 s.
    m.TRIES = 6 ' For all but a poll, which is repeated until the link expires.
    m.LINKS = 3 ' A link that has expired is replaced, but not for ever on a forgotten screen.
    m.MARGIN_SECONDS = 60 ' Tokens are refreshed this long before they expire, or in the middle of a shorter life.
end sub

sub provideTokens()
    m.port = CreateObject("roMessagePort")
    m.top.observeField("cancel", m.port)
    m.isBackPressed = false
    m.isRefreshing = false
    m.life = invalid
    m.top.outcome = validTokens()
end sub

function validTokens() as object
    saved = loadTokens()
    if saved["accessToken"] <> invalid and saved["accessToken"] <> m.top.rejected and not isDue(saved) then return { tokens: saved }
    if saved["refreshToken"] <> invalid then
        outcome = refresh(saved["refreshToken"])
        if outcome.error <> "invalid_grant" then return outcome ' The saved tokens stay: try later.
        m.top.unsaved = invalid
    end if
    for link = 1 to m.LINKS
        outcome = signIn()
        if outcome.error <> "expired" then return outcome
    end for
    return failure("expired")
end function

function refresh(refreshToken as string) as object
    m.isRefreshing = true ' A refresh token may be good for one use: Back ends nothing before the new one is here.
    reply = askUntilAnswered("/refresh", { "service": m.top.service, "refreshToken": refreshToken }, "accessToken")
    m.isRefreshing = false
    if reply.error <> invalid then return reply
    tokens = tokensOf(reply.body)
    if tokens["refreshToken"] = invalid then tokens["refreshToken"] = refreshToken ' The old one stays.
    return keep(tokens)
end function

' Where the provider names no expiry, only its API says it, with a 401.
function isDue(saved as object) as boolean
    if saved["expiresAt"] = invalid then return false
    left = saved["expiresAt"] - CreateObject("roDateTime").AsSeconds()
    ' More than they ever had: the clock was set back since they were saved.
    if left < m.MARGIN_SECONDS and left < saved["expiresIn"] / 2 then return true
    return left > saved["expiresIn"]
end function

' The registry has 16 KB for the whole app. It is removed with the app.
function keep(tokens as object) as object
    if tokens["expiresIn"] <> invalid and tokens["expiresAt"] = invalid then
        tokens["expiresAt"] = CreateObject("roDateTime").AsSeconds() + tokens["expiresIn"]
    end if
    section = CreateObject("roRegistrySection", "SignInRelay")
    if not (section.Write(m.top.service, FormatJson(tokens)) and section.Flush()) then
        m.top.unsaved = tokens
        return failure("not_saved") ' It is full.
    end if
    m.top.unsaved = invalid
    return { tokens: tokens }
end function

function loadTokens() as object
    unsaved = m.top.unsaved
    if unsaved <> invalid then
        keep(unsaved)
        return unsaved
    end if
    section = CreateObject("roRegistrySection", "SignInRelay")
    if not section.Exists(m.top.service) then return {}
    saved = ParseJson(section.Read(m.top.service))
    if type(saved) <> "roAssociativeArray" then return {}
    return saved
end function

' Returns { status, body, text, pauseMs }. Status 0: no complete response. Ends at once on Back.
' Without a body: GET. Only the asynchronous calls say the status.
function ask(path as string, body as dynamic, timeoutSeconds as integer) as object
    transfer = CreateObject("roUrlTransfer")
    transfer.SetUrl(m.top.relay + path)
    transfer.SetCertificatesFile("common:/certs/ca-bundle.crt") ' Without it there is no https.
    transfer.InitClientCertificates()
    transfer.RetainBodyOnError(true) ' Otherwise the text of a 400 is lost.
    transfer.SetPort(m.port)
    if body = invalid then
        started = transfer.AsyncGetToString()
    else
        transfer.AddHeader("Content-Type", "application/json")
        started = transfer.AsyncPostFromString(FormatJson(body))
    end if
    ' At random, so that a thousand devices do not return at the same moment.
    reply = { status: 0, body: {}, text: "", pauseMs: 1000 + Rnd(2000) }
    if not started then return reply

    age = CreateObject("roTimespan")
    wasCancelled = isCancelled()
    while age.TotalSeconds() < timeoutSeconds and isCancelled() = wasCancelled
        message = nextMessage(1000)
        if type(message) = "roUrlEvent" and message.GetSourceIdentity() = transfer.GetIdentity() then
            readReply(message, reply)
            return reply
        end if
    end while
    transfer.AsyncCancel()
    return reply
end function

sub readReply(message as object, reply as object)
    if message.GetResponseCode() <= 0 then return ' No complete response.
    reply.status = message.GetResponseCode()
    reply.text = message.GetString().Trim().Left(100)
    parsed = ParseJson(message.GetString())
    if type(parsed) = "roAssociativeArray" then reply.body = parsed
    retryAfter = message.GetResponseHeaders()["retry-after"]
    if retryAfter = invalid then return
    seconds = retryAfter.ToInt()
    if seconds > 60 then seconds = 60
    if seconds > 0 then reply.pauseMs = reply.pauseMs + 1000 * seconds
end sub

' Ends at once on Back.
sub pause(pauseMs as integer)
    age = CreateObject("roTimespan")
    wasCancelled = isCancelled()
    while age.TotalMilliseconds() < pauseMs and isCancelled() = wasCancelled
        nextMessage(250)
    end while
end sub

function nextMessage(timeoutMs as integer) as dynamic
    if m.life <> invalid and not isCancelled() then m.top.secondsLeft = secondsLeft()
    message = wait(timeoutMs, m.port)
    if type(message) = "roSGNodeEvent" then m.isBackPressed = true
    return message
end function

function isCancelled() as boolean
    return m.isBackPressed and not m.isRefreshing
end function
