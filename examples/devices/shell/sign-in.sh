#!/bin/sh
# Signs a user in through a Sign-in Relay. POSIX shell, curl and sed.
#
#   sh sign-in.sh https://relay.example mal [refresh]
#
# `refresh`: the provider's API answered 401 to the saved access token.
# Exit codes: 0 tokens-SERVICE.json is valid, 1 failed (the last line of stderr says why), 130 cancelled with Ctrl-C.
# First the sign-in itself; below it, what a finished program adds.
set -u
umask 077
[ $# -ge 2 ] || { echo 'Usage: sh sign-in.sh RELAY SERVICE [refresh]' >&2; exit 2; }
relay=${1%/} service=$2 demand=${3-}
tokens=tokens-$service.json
wait_seconds=25 # The relay holds a poll this long. Some proxies cut a request after 30 s.
patience=$((wait_seconds + 15)) # A request that takes longer is lost.
tries=6         # Only a poll is repeated until the link expires.

# 0: the tokens are saved. 1: the link has expired.
sign_in() {
  body="{\"service\":\"$service\",\"code\":true,\"ack\":true,\"device\":\"Living room\"}"
  ask_until_answered /auth/start "$body" link || fail "$(field error)"
  # Only for this device: never show it, log it or put it into a link.
  result="/auth/result?session=$(field session)"
  show
  start_countdown "$(number expiresIn)"
  while :; do
    ask "$result&wait=$wait_seconds"
    case $status in
      200)
        [ -z "$(field error)" ] || fail "$(field error)"
        if [ -n "$(field accessToken)" ]; then
          save
          stop_countdown
          trap 'echo "Signed in."; exit 0' $signals
          tell ack # Only now: until then a lost response, or a crash, costs no sign-in.
          return 0
        fi
        ;;
      204) pause=1 ;; # Not yet.
      400) fail "refused: $answer" ;;
      410) return 1 ;; # The relay decides when the link has expired.
    esac
    # All else is transient: 429, 5xx, a page of a proxy, no network.
    [ "$status" = 204 ] || is_counting || return 1
    nap "$pause"
  done
}

# tell <parameter>: acknowledges or cancels. Nobody has to wait for it long.
tell() {
  tried=0 patience=5
  while [ $((tried += 1)) -le "$tries" ]; do
    ask "$result&$1=1"
    case $status in 204 | 400 | 410) return ;; esac
    nap "$pause"
  done
}

# ask_until_answered <path> <JSON body> <member>: 0 after a 200 with that member, 1 after any other error
# in JSON. Tries again what may pass.
ask_until_answered() {
  tried=0
  while [ $((tried += 1)) -le "$tries" ]; do
    [ "$tried" = 1 ] || nap "$pause"
    ask "$1" "$2"
    [ "$status" != 200 ] || [ -z "$(field "$3")" ] || return 0
    case $status in
      429 | 000 | 2?? | 3?? | 5??) ;;
      *) if [ -n "$(field error)" ]; then return 1; else fail "refused: $answer"; fi ;;
    esac
  done
  [ "$status" != 000 ] || fail "unreachable: $relay"
  fail unreachable
}

# ask <path and query> [<JSON body>]: sets $status (000: no complete response), $answer and $pause.
# The address goes to curl by its standard input: other users can read its arguments.
ask() {
  : >"$folder/headers"
  : >"$folder/body"
  if [ $# -gt 1 ]; then printf %s "$2" >"$folder/request" || fail "cannot write to $folder"; fi
  # In the background, so that a signal is handled at once and not when curl has ended.
  {
    printf 'url = "%s"\n' "$relay$1"
    [ $# -lt 2 ] || printf 'data = "@%s"\nheader = "Content-Type: application/json"\n' "$folder/request"
  } | (
    ulimit -c 0
    ulimit -f 128 # A response that never ends fills no disk.
    exec curl --silent --config - --max-time "$patience" \
      --dump-header "$folder/headers" --output "$folder/body" --write-out '%{http_code}' >"$folder/status"
  ) &
  wait $!
  case $? in
    0) status=$(cat "$folder/status") ;;
    23) fail "cannot write to $folder" ;;
    *) status=000 ;; # A response that was cut off is none.
  esac
  # The relay writes on one line. A second one would get into the configuration of curl.
  answer=$(head -n 1 "$folder/body")
  # Leave no secrets behind if the program is killed.
  : >"$folder/body"
  : >"$folder/request"
  pause=$(sed -n 's/^[Rr][Ee][Tt][Rr][Yy]-[Aa][Ff][Tt][Ee][Rr]: *0*\([0-9]\{1,9\}\)[^0-9]*$/\1/p' "$folder/headers")
  [ "${pause:=0}" -le 60 ] || pause=60
  pause=$((pause + 1 + $$ % 3))
}

# field <name>: a text of the JSON object in $answer.
field() { printf %s "$answer" | sed -n 's/^{.*"'"$1"'":"\([^"]*\)".*/\1/p'; }

# number <name>: a number of it. Never a text, because some shells run commands in what they calculate with.
number() { printf %s "$answer" | sed -n 's/^{.*"'"$1"'":\([1-9][0-9]\{0,10\}\)[^0-9].*/\1/p'; }

nap() {
  sleep "$1" &
  wait $!
}

# --- What a finished program adds: kept tokens, new links, a countdown, cancelling, a QR code. ---

links=3   # A link that has expired is replaced, but not for ever on a forgotten screen.
margin=60 # Tokens are refreshed this many seconds before they expire, or in the middle of a shorter life.
result='' ticker='' refresh_token=''
folder=$(mktemp -d) || exit 1
trap 'stop_countdown; rm -rf "$folder"' EXIT
signals='INT TERM HUP QUIT PIPE'
trap cancel $signals

fail() {
  stop_countdown
  printf '\n%s\n' "$1" >&2
  exit 1
}

cancel() {
  trap 'exit 130' $signals # Once more: does not wait for the relay.
  stop_countdown
  # The link then says that the device cancelled the sign-in.
  [ -z "$result" ] || tell cancel
  printf '\ncancelled\n' >&2
  exit 130
}

show() {
  echo "Open $(field link)"
  echo "or type $(field userCode) at $relay/link"
  # Drawn if qrencode is installed; the relay has a picture of it otherwise.
  qrencode -t ANSIUTF8 -- "$(field link)" 2>/dev/null || echo "QR code: $(field qr)"
}

# The countdown is the clock of the sign-in, too: the time of day may not be set yet, or jump.
start_countdown() {
  left=$1
  # After a SIGKILL no trap runs, and the countdown ends by itself.
  while [ "$left" -ge 0 ] && kill -0 $$ 2>/dev/null; do
    printf '\r%d:%02d ' $((left / 60)) $((left % 60)) >&2
    sleep 1
    left=$((left - 1))
  done &
  ticker=$!
}

is_counting() { kill -0 "$ticker" 2>/dev/null; }

stop_countdown() {
  [ -z "$ticker" ] || { kill "$ticker" && wait "$ticker"; } 2>/dev/null
  ticker=''
}

# Reads members by name: nothing else of the relay is kept.
save() {
  kept="{\"accessToken\":\"$(field accessToken)\""
  # If there is no new refresh token, the old one stays.
  renewal=$(field refreshToken)
  renewal=${renewal:-$refresh_token}
  [ -z "$renewal" ] || kept="$kept,\"refreshToken\":\"$renewal\""
  lifetime=$(number expiresIn)
  [ -z "$lifetime" ] || kept="$kept,\"expiresIn\":$lifetime,\"expiresAt\":$(($(date +%s) + lifetime))"
  # Another program may be saving too. Into a folder of that name `mv` would move the file.
  until [ ! -d "$tokens" ] && printf '%s\n' "$kept}" >"$tokens.$$" && mv -f "$tokens.$$" "$tokens"; do
    # A program that ended would lose the tokens.
    rm -f "$tokens.$$"
    stop_countdown
    trap cancel $signals
    printf '\nnot_saved: %s\nTrying again until Ctrl-C.\n' "$tokens" >&2
    nap 5
  done
}

# Where the provider names no expiry, only its API says it, with a 401.
is_due() {
  [ "$demand" != refresh ] || return 0
  [ -n "$(number expiresAt)" ] || return 1
  left=$(($(number expiresAt) - $(date +%s))) life=$(number expiresIn)
  middle=$((${life:-0} / 2))
  [ "$middle" -gt "$margin" ] || margin=$middle
  # More than they ever had: the clock was set back since they were saved.
  [ "$left" -lt "$margin" ] || [ "$left" -gt "${life:-0}" ]
}

# 0: the saved tokens are valid, or were refreshed. 1: sign in.
use_saved() {
  answer=$(cat "$tokens" 2>/dev/null)
  [ -z "$(field accessToken)" ] || is_due || return 0
  refresh_token=$(field refreshToken)
  [ -n "$refresh_token" ] || return 1
  body="{\"service\":\"$service\",\"refreshToken\":\"$refresh_token\"}"
  # A refresh token may be good for one use: nothing stops the program before the new one is saved.
  trap '' $signals
  if ask_until_answered /refresh "$body" accessToken; then
    save
    return 0
  fi
  trap cancel $signals
  # Any other error: the saved tokens stay, try later.
  [ "$(field error)" = invalid_grant ] || fail "$(field error)"
  refresh_token=''
  return 1
}

if ! use_saved; then
  shown=0
  until sign_in; do
    stop_countdown
    result=''
    [ $((shown += 1)) -lt "$links" ] || fail expired
  done
fi
echo 'Signed in.'
