' The sign-in itself. SignInTask.brs adds what a finished app needs, and the requests.
' Members of JSON are in quotes and brackets, because BrightScript puts other names into lower case.

' Returns { tokens }, or { error, detail }. Errors: access_denied, authorization_failed, missing_code,
' exchange_failed (from the relay), expired, cancelled, refused, unreachable, not_saved.
function signIn() as object
    body = { "service": m.top.service, "code": true, "ack": true, "device": CreateObject("roDeviceInfo").GetFriendlyName() }
    reply = askUntilAnswered("/auth/start", body, "link")
    if reply.error <> invalid then return reply
    link = reply.body
    ' The poll secret is only for this device: never show it, log it or put it into a link.
    m.result = "/auth/result?session=" + link["session"]
    ' roTimespan, because the clock may not be set yet.
    m.life = { age: CreateObject("roTimespan"), seconds: link["expiresIn"] }
    m.top.prompt = { link: link["link"], userCode: link["userCode"], codeAddress: m.top.relay + "/link", qr: link["qr"] }
    while true
        if not isCancelled() then reply = ask(m.result + "&wait=" + m.WAIT_SECONDS.ToStr(), invalid, m.TIMEOUT_SECONDS)
        if isCancelled() then
            tell("cancel=1") ' The link then says so.
            return failure("cancelled")
        else if reply.status = 200 and reply.body["error"] <> invalid then
            return failure(reply.body["error"])
        else if reply.status = 200 and reply.body["accessToken"] <> invalid then
            outcome = keep(tokensOf(reply.body))
            if outcome.error <> invalid then return outcome
            m.life = invalid ' Ends the countdown.
            tell("ack=1") ' Only now: until then a lost response, or a crash, costs no sign-in.
            return outcome
        else if reply.status = 400 then
            return failure("refused", reply.text)
        else if reply.status = 410 or (reply.status <> 204 and secondsLeft() = 0) then
            return failure("expired") ' The relay decides that. The time here ends only polls that fail.
        else if reply.status = 204 then
            pause(1000) ' Not yet.
        else
            pause(reply.pauseMs) ' All else is transient: 429, 5xx, a page of a proxy, no network.
        end if
    end while
end function

' By name: nothing else of the relay is kept.
function tokensOf(body as object) as object
    tokens = {}
    for each name in ["accessToken", "refreshToken", "expiresIn"]
        if body[name] <> invalid then tokens[name] = body[name]
    end for
    return tokens
end function

' Acknowledges or cancels.
sub tell(query as string)
    for tried = 1 to m.TRIES
        reply = ask(m.result + "&" + query, invalid, m.SHORT_TIMEOUT_SECONDS)
        if reply.status = 204 or reply.status = 400 or reply.status = 410 then return
        pause(reply.pauseMs)
    end for
end sub

' Returns { body }, the JSON of a 200 that has the member, or a failure. Tries again what may pass.
function askUntilAnswered(path as string, body as object, member as string) as object
    for tried = 1 to m.TRIES
        if tried > 1 then pause(reply.pauseMs)
        if not isCancelled() then reply = ask(path, body, m.TIMEOUT_SECONDS)
        if isCancelled() then return failure("cancelled")
        if reply.status = 200 and reply.body[member] <> invalid then return { body: reply.body }
        if reply.status >= 400 and reply.status < 500 and reply.status <> 429 then
            if reply.body["error"] <> invalid then return failure(reply.body["error"])
            return failure("refused", reply.text)
        end if
    end for
    if reply.status = 0 then return failure("unreachable", m.top.relay)
    return failure("unreachable")
end function

function secondsLeft() as integer
    left = m.life.seconds - m.life.age.TotalSeconds()
    if left < 0 then return 0
    return left
end function

function failure(code as string, detail = "" as string) as object
    return { error: code, detail: detail }
end function
