#!/bin/sh
# Signs a user in through a Sign-in Relay. POSIX shell, curl and sed.
#
#   sh sign-in.sh https://relay.example mal
#
# The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
# Exit codes: 0 signed in, 1 failed (the last line of stderr says why), 130 cancelled with Ctrl-C.
set -u
umask 077
relay=${1%/} service=$2
wait_seconds=25 # The relay holds a poll this long. Some proxies cut a request after 30 s.
tries=6         # For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
links=3         # A link that has expired is replaced, but not for ever on a forgotten screen.

folder=$(mktemp -d)
session='' ticker=''
trap 'stop_countdown; rm -rf "$folder"' EXIT
trap cancel INT TERM HUP

# field <name>: a member of the JSON in $answer. The relay writes it on one line.
field() { printf %s "$answer" | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p'; }

fail() {
  stop_countdown
  printf '\n%s\n' "$1" >&2
  exit 1
}

# ask <path and query> [<JSON body>]: sets $status (000: no response), $answer and $pause.
# The address goes to curl by its standard input: other users can read its arguments.
ask() {
  : >"$folder/headers"
  : >"$folder/body"
  {
    printf 'url = "%s"\n' "$relay$1"
    [ $# -lt 2 ] || printf 'data = "@%s"\nheader = "Content-Type: application/json"\n' "$folder/request"
  } >"$folder/config"
  [ $# -lt 2 ] || printf %s "$2" >"$folder/request"
  # In the background, so that a signal is handled at once and not when curl has ended.
  curl --silent --config "$folder/config" --max-time $((wait_seconds + 15)) \
    --dump-header "$folder/headers" --output "$folder/body" --write-out '%{http_code}' >"$folder/status" &
  wait $!
  # A response that was cut off is none.
  if [ $? -eq 0 ]; then status=$(cat "$folder/status"); else status=000; fi
  answer=$(cat "$folder/body")
  pause=$(sed -n 's/^[Rr][Ee][Tt][Rr][Yy]-[Aa][Ff][Tt][Ee][Rr]: *\([0-9]\{1,2\}\)[^0-9]*$/\1/p' "$folder/headers")
  pause=$((${pause:-0} + 1 + $$ % 3))
}

now() { date +%s; }

nap() {
  sleep "$1" &
  wait $!
}

start_countdown() {
  over=$1
  while left=$((over - $(now))) && [ "$left" -ge 0 ]; do
    printf '\r%d:%02d ' $((left / 60)) $((left % 60)) >&2
    sleep 1
  done &
  ticker=$!
}

stop_countdown() {
  [ -z "$ticker" ] || { kill "$ticker" && wait "$ticker"; } 2>/dev/null
  ticker=''
}

# tell <parameter>: acknowledges or cancels.
tell() {
  tried=0
  while [ $((tried += 1)) -le "$tries" ]; do
    ask "/auth/result?session=$session&$1=1"
    case $status in 204 | 400 | 410) return ;; esac
    nap "$pause"
  done
}

cancel() {
  trap '' INT TERM HUP
  stop_countdown
  # The link then says that the device cancelled the sign-in.
  [ -z "$session" ] || tell cancel
  printf '\ncancelled\n' >&2
  exit 130
}

start() {
  tried=0
  while [ $((tried += 1)) -le "$tries" ]; do
    ask /auth/start "{\"service\":\"$service\",\"code\":true,\"ack\":true,\"device\":\"Living room\"}"
    session=$(field session)
    [ "$status" != 200 ] || [ -z "$session" ] || return 0
    case $status in 429 | 000 | 2?? | 3?? | 5??) ;; *) fail "refused: $answer" ;; esac
    nap "$pause"
  done
  fail unreachable
}

save() {
  # Without a new refresh token the old one stays.
  if [ -z "$(field refreshToken)" ] && [ -n "$refresh_token" ]; then
    answer="{\"refreshToken\":\"$refresh_token\",${answer#?}"
  fi
  printf '%s\n' "$answer" >tokens.json.new && mv tokens.json.new tokens.json
}

# 0: the tokens are saved. 1: the link has expired.
wait_for_tokens() {
  # After a sleep the next poll says whether the link is still valid: 410 if not.
  while [ "$(now)" -lt "$1" ]; do
    ask "/auth/result?session=$session&wait=$wait_seconds"
    case $status in
      200)
        [ -z "$(field error)" ] || fail "$(field error)"
        if [ -n "$(field accessToken)" ]; then
          save
          tell ack
          return 0
        fi
        ;;
      204) pause=1 ;;
      400) fail "refused: $answer" ;;
      410) return 1 ;;
    esac
    # All else is transient: 429, 5xx, a page of a proxy, no network.
    nap "$pause"
  done
  return 1
}

sign_in() {
  shown=0
  while [ $((shown += 1)) -le "$links" ]; do
    start
    over=$(($(now) + $(field expiresIn)))
    echo "Open $(field link)"
    echo "or type $(field userCode) at $relay/link"
    # Draws the code if qrencode is installed; the relay has a picture of it otherwise.
    qrencode -t ANSIUTF8 "$(field link)" 2>/dev/null || echo "QR code: $(field qr)"
    start_countdown "$over"
    wait_for_tokens "$over" && return
    stop_countdown
  done
  session=''
  fail expired
}

# 0: refreshed. 1: sign in again.
refresh() {
  tried=0
  while [ $((tried += 1)) -le "$tries" ]; do
    ask /refresh "{\"service\":\"$service\",\"refreshToken\":\"$refresh_token\"}"
    if [ "$status" = 200 ] && [ -n "$(field accessToken)" ]; then
      save
      return 0
    fi
    [ "$status$(field error)" != 400invalid_grant ] || return 1
    case $status in 429 | 000 | 2?? | 3?? | 5??) ;; *) fail "refused: $answer" ;; esac
    nap "$pause"
  done
  # The old tokens stay: try later.
  fail unreachable
}

answer=$(cat tokens.json 2>/dev/null)
refresh_token=$(field refreshToken)
if [ -z "$refresh_token" ] || ! refresh; then
  refresh_token=''
  sign_in
fi
echo 'Signed in.'
