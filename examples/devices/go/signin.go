// The whole sign-in at a Sign-in Relay. Go 1.19 or newer, standard library only.
// app.go adds what a finished app needs.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	waitSeconds = 25     // The relay holds a poll this long. Some proxies cut a request after 30 s.
	tries       = 6      // Only a poll is repeated until the link expires.
	tellSeconds = 5      // Nobody has to wait long for an acknowledgement or a cancellation.
	maxBytes    = 65_536 // More than any response of a relay: one that never ends fills no memory.
)

// Failure is access_denied, authorization_failed, missing_code (from the relay), exchange_failed,
// expired, cancelled, refused, unreachable, not_saved, or invalid_grant (refresh only: sign in again).
type Failure struct{ Code, Detail string }

func (f *Failure) Error() string { return strings.TrimSuffix(f.Code+": "+f.Detail, ": ") }

// Tokens are what an app needs.
type Tokens struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken,omitempty"`
	ExpiresIn    int64  `json:"expiresIn,omitempty"`
}

// Saved are tokens with what a refresh needs to know.
type Saved struct {
	Tokens
	ExpiresAt int64 `json:"expiresAt,omitempty"` // Unix seconds; 0 if the provider names none.
	// After a blind sign-in: where this device refreshes by itself.
	TokenURL string `json:"tokenUrl,omitempty"`
	ClientID string `json:"clientId,omitempty"`
}

// Link is what to show.
type Link struct {
	Link, UserCode, QR string
	ExpiresIn          int64
}

// SignIn shows a link, waits for the user, saves the tokens, and only then acknowledges them: until then
// a lost response, or a crash, costs no sign-in. End ctx to cancel.
func SignIn(ctx context.Context, relay, service string, show func(Link), save func(Saved) (Saved, error)) (Saved, error) {
	start := map[string]any{"service": service, "code": true, "ack": true, "device": "Living room"}
	member, verifier := "accessToken", ""
	isBlind, err := canBeBlind(ctx, relay, service)
	if err != nil {
		return Saved{}, err
	}
	if isBlind {
		member = "code"
		random := make([]byte, 32)
		if _, err := rand.Read(random); err != nil {
			return Saved{}, err
		}
		verifier = base64.RawURLEncoding.EncodeToString(random)
		digest := sha256.Sum256([]byte(verifier))
		start["challenge"] = base64.RawURLEncoding.EncodeToString(digest[:])
	}
	reply, err := askUntilAnswered(ctx, relay+"/auth/start", start, "link")
	if err != nil {
		return Saved{}, err
	}
	started := reply.json
	// Not by the device's clock, which may not be set yet: Go compares with a monotonic one.
	endsAt := time.Now().Add(time.Duration(started.seconds("expiresIn")) * time.Second)
	// The poll secret is only for this device: never show it, log it or put it into a link.
	result := relay + "/auth/result?session=" + url.QueryEscape(started.text("session"))
	show(Link{started.text("link"), started.text("userCode"), started.text("qr"), started.seconds("expiresIn")})
	got, err := waitFor(ctx, member, result, endsAt)
	if err != nil {
		if ctx.Err() != nil {
			tell(result + "&cancel=1") // The link then says so.
		}
		return Saved{}, err
	}
	saved := Saved{Tokens: got.fromRelay()}
	if isBlind {
		if saved, err = exchange(ctx, got, verifier); err != nil {
			return Saved{}, err
		}
	}
	if saved, err = save(saved); err != nil {
		return saved, err
	}
	tell(result + "&ack=1")
	return saved, nil
}

// waitFor returns the answer that has the member: tokens, or the code of a blind sign-in.
func waitFor(ctx context.Context, member, result string, endsAt time.Time) (members, error) {
	for {
		reply := ask(ctx, result+"&wait="+strconv.Itoa(waitSeconds), nil)
		switch {
		case ctx.Err() != nil:
			return nil, &Failure{Code: "cancelled"}
		case reply.status == 200 && reply.json.text("error") != "":
			return nil, &Failure{Code: reply.json.text("error")}
		case reply.has(member):
			return reply.json, nil
		case reply.status == 400:
			return nil, &Failure{"refused", reply.text}
		// The relay decides when the link has expired. The time here ends only polls that fail.
		case reply.status == 410, reply.status != 204 && time.Now().After(endsAt):
			return nil, &Failure{Code: "expired"}
		// 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
		case reply.status == 204:
			reply.pause = time.Second
		}
		sleep(ctx, reply.pause)
	}
}

// canBeBlind reports whether this device may exchange the code itself, so that the relay sees no token.
// Older relays do not say, or have no /services.
func canBeBlind(ctx context.Context, relay, service string) (bool, error) {
	reply, err := askUntilAnswered(ctx, relay+"/services", nil, "services")
	if reply.status == 404 {
		return false, nil
	}
	services, _ := reply.json["services"].([]any)
	for _, each := range services {
		offer, _ := each.(map[string]any)
		if offer["service"] == service {
			return offer["blind"] == "can" || offer["blind"] == "must", nil
		}
	}
	return false, err
}

// exchange sends the code, which works once (RFC 6749 §4.1.2): again only if there was no response, and once.
func exchange(ctx context.Context, got members, verifier string) (Saved, error) {
	tokenURL, clientID := got.text("tokenUrl"), got.text("clientId")
	form := url.Values{"grant_type": {"authorization_code"}, "code": {got.text("code")},
		"redirect_uri": {got.text("redirectUri")}, "client_id": {clientID}, "code_verifier": {verifier}}
	reply := ask(ctx, tokenURL, form)
	if reply.status == 0 {
		sleep(ctx, reply.pause)
		reply = ask(ctx, tokenURL, form)
	}
	if reply.has("access_token") {
		return Saved{Tokens: reply.json.fromProvider(), TokenURL: tokenURL, ClientID: clientID}, nil
	}
	if ctx.Err() != nil {
		return Saved{}, &Failure{Code: "cancelled"}
	}
	return Saved{}, &Failure{"exchange_failed", reply.text}
}

func tell(address string) {
	for try := 0; try < tries; try++ {
		// Not with the context of the sign-in, which has ended if the user cancelled.
		ctx, done := context.WithTimeout(context.Background(), tellSeconds*time.Second)
		reply := ask(ctx, address, nil)
		done()
		if reply.status == 204 || reply.status == 400 || reply.status == 410 {
			return
		}
		time.Sleep(reply.pause)
	}
}

// askUntilAnswered returns a 200 that has the member, or the last reply with an error. It tries again what may pass.
func askUntilAnswered(ctx context.Context, address string, body any, member string) (reply, error) {
	var last reply
	for try := 0; try < tries && ctx.Err() == nil; try++ {
		if try > 0 {
			sleep(ctx, last.pause)
		}
		last = ask(ctx, address, body)
		if last.has(member) {
			return last, nil
		}
		if last.status >= 400 && last.status < 500 && last.status != 429 {
			if code := last.json.text("error"); code != "" {
				return last, &Failure{Code: code}
			}
			return last, &Failure{"refused", last.text}
		}
	}
	if ctx.Err() != nil {
		return last, &Failure{Code: "cancelled"}
	}
	if last.status == 0 {
		return last, &Failure{"unreachable", address}
	}
	return last, &Failure{"unreachable", last.text}
}

type reply struct {
	status int           // 0: no complete response.
	json   members       // Nil for what is no JSON object, such as a page of a proxy.
	text   string        // What an error may say. A 200 and JSON may contain tokens: of those only `error`.
	pause  time.Duration // Before a retry.
}

func (r reply) has(member string) bool {
	return r.status == 200 && r.json[member] != nil && r.json[member] != ""
}

// members of a JSON object are read by name: no other one becomes an address or a client here.
type members map[string]any

func (m members) text(name string) string {
	text, _ := m[name].(string)
	return text
}

// seconds: some providers send text, or a fraction. What is no time counts as left out.
func (m members) seconds(name string) int64 {
	seconds, _ := strconv.ParseFloat(fmt.Sprint(m[name]), 64)
	if seconds >= 1 && seconds < 1e10 {
		return int64(seconds)
	}
	return 0
}

func (m members) fromRelay() Tokens {
	return Tokens{m.text("accessToken"), m.text("refreshToken"), m.seconds("expiresIn")}
}

// fromProvider: RFC 6749 §5.1.
func (m members) fromProvider() Tokens {
	return Tokens{m.text("access_token"), m.text("refresh_token"), m.seconds("expires_in")}
}

// http.Client has no timeout by default: a socket that died while the device slept would hang.
var client = &http.Client{
	Timeout: (waitSeconds + 15) * time.Second,
	// A redirect could lead tokens to another server, and a captive portal's may pass.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func ask(ctx context.Context, address string, body any) reply {
	// At random, so that a thousand devices do not return at the same moment.
	lost := reply{pause: time.Second + time.Duration(mathrand.Int63n(int64(2*time.Second)))}
	method, sent, contentType := http.MethodGet, []byte(nil), "application/json"
	if form, isForm := body.(url.Values); isForm {
		method, sent, contentType = http.MethodPost, []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else if body != nil {
		method = http.MethodPost
		sent, _ = json.Marshal(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sent))
	if err != nil {
		return lost
	}
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if err != nil {
		return lost
	}
	defer response.Body.Close()
	received, err := io.ReadAll(io.LimitReader(response.Body, maxBytes))
	if err != nil { // Cut off.
		return lost
	}
	seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31)
	if seconds > 60 {
		seconds = 60
	}
	got := reply{status: response.StatusCode, pause: lost.pause + time.Duration(seconds)*time.Second}
	_ = json.Unmarshal(received, &got.json)
	got.text = got.json.text("error")
	if got.status != 200 && !json.Valid(received) {
		got.text = strings.TrimSpace(string(received))
	}
	return got
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
