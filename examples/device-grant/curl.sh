#!/usr/bin/env bash
# Signs in with curl, or refreshes. Argument: the issuer at the relay. Secrets go to curl
# by its standard input, because other users of the machine can read its arguments. sed
# parses the responses, each of which is one line; if you have jq, use that.
set -euo pipefail
umask 077
issuer=$1

# A text, or a number.
field() { sed -nE 's/.*"'"$1"'":("([^"]*)"|([0-9]+)).*/\2\3/p' <<<"$answer"; }

# token <parameter> <its value> <other parameters of curl>
token() {
  local name=$1 value=$2
  shift 2
  printf %s "$value" | curl -sS --max-time 60 --data-urlencode "$name@-" "$@" "$issuer/token" | head -c 65536
}

sign_in() {
  answer=$(curl -sS --max-time 30 -d device='Living room' "$issuer/device_authorization" | head -c 65536)
  local device_code interval over
  device_code=$(field device_code)
  [ -n "$device_code" ] || return 0
  interval=$(field interval)
  over=$((SECONDS + $(field expires_in)))
  echo "Open $(field verification_uri_complete)"
  echo "or type $(field user_code) at $(field verification_uri)"
  while true; do
    # Held until the sign-in ends, for at most 25 s.
    answer=$(token device_code "$device_code" -H 'Prefer: wait=25' \
      -d grant_type=urn:ietf:params:oauth:grant-type:device_code) || answer=
    case $(field error) in
      authorization_pending) ;;
      slow_down) interval=$((interval + 5)) ;;
      # Tokens. A lost connection and a page of a proxy do not end the sign-in.
      '') [ -z "$(field access_token)" ] && [ "$SECONDS" -lt "$over" ] || return 0 ;;
      *) return 0 ;;
    esac
    sleep "$interval"
  done
}

if [ -e refresh-token ]; then
  answer=$(token refresh_token "$(cat refresh-token)" -d grant_type=refresh_token)
  [ "$(field error)" != invalid_grant ] || rm refresh-token
fi
[ -e refresh-token ] || sign_in
if [ -z "$(field access_token)" ]; then
  field error >&2
  exit 1
fi
printf '%s\n' "$answer" >tokens.json
# If there is no new refresh token, the old one stays.
[ -z "$(field refresh_token)" ] || field refresh_token >refresh-token
