' Signs a user in through a Sign-in Relay. For a Task node, since roUrlTransfer needs a thread of its own.
' SignInTask.xml has its fields:
'   relay, service     https://relay.example, mal
'   cancel             set it to true on Back
'   prompt             show link, userCode with codeAddress, and a Poster with the picture at qr
'   secondsLeft        once a second
'   outcome            { tokens } or { error, detail }
'
' Errors: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
' expired, cancelled, refused, unreachable.

sub init()
    m.top.functionName = "signInOrRefresh"
    m.WAIT_SECONDS = 25 ' The relay holds a poll this long. Some proxies cut a request after 30 s.
    m.TRIES = 6 ' For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
    m.LINKS = 3 ' A link that has expired is replaced, but not for ever on a forgotten screen.
end sub

sub signInOrRefresh()
    m.port = CreateObject("roMessagePort")
    m.top.observeField("cancel", m.port)
    m.session = ""
    saved = loadTokens()
    if saved <> invalid and saved.refreshToken <> invalid then
        outcome = refresh(saved)
        if outcome.error <> "invalid_grant" then
            m.top.outcome = outcome
            return
        end if
    end if
    m.top.outcome = signIn()
end sub

function signIn() as object
    for link = 1 to m.LINKS
        outcome = signInOnce()
        if outcome.error = "cancelled" and m.session <> "" then tell("cancel=1")
        if outcome.error <> "expired" then return outcome
    end for
    return { error: "expired", detail: "" }
end function

function signInOnce() as object
    body = FormatJson({ service: m.top.service, code: true, ack: true, device: CreateObject("roDeviceInfo").GetFriendlyName() })
    started = invalid
    for tried = 1 to m.TRIES
        reply = ask("/auth/start", body, invalid)
        if reply.cancelled then return { error: "cancelled", detail: "" }
        if reply.status = 200 and reply.body <> invalid then
            started = reply.body
            exit for
        end if
        if isRefusal(reply.status) then return { error: "refused", detail: reply.text }
        if pause(reply.pauseMs, invalid) then return { error: "cancelled", detail: "" }
    end for
    if started = invalid then return { error: "unreachable", detail: "" }

    m.session = started.session ' Only for this device: never show it, log it or put it into a link.
    age = CreateObject("roTimespan") ' The clock may not be set yet; this does not need it.
    life = { age: age, seconds: started.expiresIn }
    m.top.prompt = { link: started.link, userCode: started.userCode, codeAddress: m.top.relay + "/link", qr: started.qr }

    ' After a sleep the next poll says whether the link is still valid: 410 if not.
    while secondsLeft(life) > 0
        askedAt = CreateObject("roTimespan")
        reply = ask("/auth/result?session=" + m.session + "&wait=" + m.WAIT_SECONDS.ToStr(), "", life)
        if reply.cancelled then return { error: "cancelled", detail: "" }
        if reply.status = 200 and reply.body <> invalid then
            if reply.body.error <> invalid then return { error: reply.body.error, detail: "" }
            if reply.body.accessToken <> invalid then
                saveTokens(reply.body)
                tell("ack=1") ' If it fails, the relay forgets them after 60 s.
                return { tokens: reply.body }
            end if
        end if
        if reply.status = 410 then exit while
        if reply.status = 400 then return { error: "refused", detail: reply.text }
        ' 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
        pauseMs = reply.pauseMs
        if reply.status = 204 then pauseMs = 1000 - askedAt.TotalMilliseconds()
        if pause(pauseMs, life) then return { error: "cancelled", detail: "" }
    end while
    return { error: "expired", detail: "" }
end function

' unreachable: keep the old tokens and try later. invalid_grant: sign in again.
function refresh(saved as object) as object
    body = FormatJson({ service: m.top.service, refreshToken: saved.refreshToken })
    for tried = 1 to m.TRIES
        reply = ask("/refresh", body, invalid)
        if reply.cancelled then return { error: "cancelled", detail: "" }
        if reply.status = 200 and reply.body <> invalid then
            tokens = reply.body
            if tokens.refreshToken = invalid then tokens.refreshToken = saved.refreshToken ' The old one stays.
            saveTokens(tokens)
            return { tokens: tokens }
        end if
        if reply.status = 400 and reply.body <> invalid then return { error: reply.body.error, detail: "" }
        if isRefusal(reply.status) then return { error: "refused", detail: reply.text }
        if pause(reply.pauseMs, invalid) then return { error: "cancelled", detail: "" }
    end for
    return { error: "unreachable", detail: "" }
end function

' Acknowledges or cancels.
sub tell(query as string)
    m.top.unobserveField("cancel")
    for tried = 1 to m.TRIES
        reply = ask("/auth/result?session=" + m.session + "&" + query, "", invalid)
        if reply.status = 204 or reply.status = 400 or reply.status = 410 then return
        sleep(reply.pauseMs)
    end for
end sub

function isRefusal(status as integer) as boolean
    return status >= 400 and status < 500 and status <> 429
end function

function secondsLeft(life as object) as integer
    left = life.seconds - life.age.TotalSeconds()
    if left < 0 then left = 0
    return left
end function

' Only the asynchronous calls say the status. An empty body: GET.
function ask(path as string, body as string, life as dynamic) as object
    transfer = CreateObject("roUrlTransfer")
    transfer.SetUrl(m.top.relay + path)
    transfer.SetCertificatesFile("common:/certs/ca-bundle.crt") ' Without it there is no https.
    transfer.InitClientCertificates()
    transfer.RetainBodyOnError(true) ' Otherwise the text of a 400 is lost.
    transfer.SetPort(m.port)
    started = false
    if body = "" then
        started = transfer.AsyncGetToString()
    else
        transfer.AddHeader("Content-Type", "application/json")
        started = transfer.AsyncPostFromString(body)
    end if
    ' At random, so that a thousand devices do not return at the same moment.
    reply = { status: 0, body: invalid, text: "", pauseMs: 1000 + Rnd(2000), cancelled: false }
    if not started then return reply

    ' There is no timeout of the transfer as a whole: a connection that died while the device slept would hang.
    age = CreateObject("roTimespan")
    while age.TotalSeconds() < m.WAIT_SECONDS + 15
        if life <> invalid then m.top.secondsLeft = secondsLeft(life)
        message = wait(1000, m.port)
        if type(message) = "roSGNodeEvent" then
            transfer.AsyncCancel()
            reply.cancelled = true
            return reply
        end if
        if type(message) = "roUrlEvent" and message.GetSourceIdentity() = transfer.GetIdentity() then
            ' Negative: no complete response.
            if message.GetResponseCode() > 0 then
                reply.status = message.GetResponseCode()
                reply.text = message.GetString().Trim().Left(100)
                parsed = ParseJson(message.GetString())
                if type(parsed) = "roAssociativeArray" then reply.body = parsed
                retryAfter = message.GetResponseHeaders()["retry-after"]
                if retryAfter <> invalid then reply.pauseMs = reply.pauseMs + 1000 * retryAfter.ToInt()
            end if
            return reply
        end if
    end while
    transfer.AsyncCancel()
    return reply
end function

' Returns whether the user cancelled.
function pause(pauseMs as integer, life as dynamic) as boolean
    age = CreateObject("roTimespan")
    while age.TotalMilliseconds() < pauseMs
        if life <> invalid then m.top.secondsLeft = secondsLeft(life)
        if type(wait(250, m.port)) = "roSGNodeEvent" then return true
    end while
    return false
end function

' The registry has 16 KB for the whole app. It is removed with the app.
sub saveTokens(tokens as object)
    section = CreateObject("roRegistrySection", "SignInRelay")
    section.Write(m.top.service, FormatJson(tokens))
    section.Flush()
end sub

function loadTokens() as dynamic
    section = CreateObject("roRegistrySection", "SignInRelay")
    if not section.Exists(m.top.service) then return invalid
    return ParseJson(section.Read(m.top.service))
end function
