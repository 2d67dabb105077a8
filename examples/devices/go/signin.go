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

// Tokens are all that is kept of a relay's answer: no other member of it becomes an address or a client here.
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

// fromProvider is a token response (RFC 6749 §5.1).
type fromProvider struct {
	AccessToken  string `json:"access_token"`
	RefreshToken any    `json:"refresh_token"`
	ExpiresIn    any    `json:"expires_in"`
}

// tokens has the old refresh token if there is no new one.
func (f fromProvider) tokens(refreshToken string) Tokens {
	tokens := Tokens{AccessToken: f.AccessToken, RefreshToken: refreshToken}
	if text, _ := f.RefreshToken.(string); text != "" {
		tokens.RefreshToken = text
	}
	// Some providers send text, or a fraction. What is no time counts as left out.
	seconds, err := strconv.ParseFloat(fmt.Sprint(f.ExpiresIn), 64)
	if err == nil && seconds > 0 && seconds < 1e10 {
		tokens.ExpiresIn = int64(seconds)
	}
	return tokens
}

// Link is what to show. The poll secret is only for this device: never show it, log it or put it into a link.
type Link struct {
	Secret    string `json:"session"`
	Link      string `json:"link"`
	UserCode  string `json:"userCode"`
	QR        string `json:"qr"`
	ExpiresIn int    `json:"expiresIn"`
}

// SignIn shows a link, waits for the user, saves the tokens, and only then acknowledges them: until then
// a lost response, or a crash, costs no sign-in. End ctx to cancel.
func SignIn(ctx context.Context, relay, service string, show func(Link), save func(Saved) (Saved, error)) (Saved, error) {
	start := map[string]any{"service": service, "code": true, "ack": true, "device": "Living room"}
	verifier := ""
	isBlind, err := canBeBlind(ctx, relay, service)
	if err != nil {
		return Saved{}, err
	}
	if isBlind {
		random := make([]byte, 32)
		if _, err := rand.Read(random); err != nil {
			return Saved{}, err
		}
		verifier = base64.RawURLEncoding.EncodeToString(random)
		digest := sha256.Sum256([]byte(verifier))
		start["challenge"] = base64.RawURLEncoding.EncodeToString(digest[:])
	}
	var link Link
	if _, err := askUntilAnswered(ctx, relay+"/auth/start", start, &link, "link"); err != nil {
		return Saved{}, err
	}
	// Not by the device's clock, which may not be set yet: Go compares with a monotonic one.
	endsAt := time.Now().Add(time.Duration(link.ExpiresIn) * time.Second)
	result := relay + "/auth/result?session=" + url.QueryEscape(link.Secret)
	show(link)
	member := "accessToken"
	if isBlind {
		member = "code"
	}
	got, err := waitFor(ctx, member, result, endsAt)
	if err != nil {
		if ctx.Err() != nil {
			tell(result + "&cancel=1") // The link then says so.
		}
		return Saved{}, err
	}
	saved := Saved{Tokens: got.Tokens}
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

// outcome is the answer to a poll once the user has signed in: tokens, or the code of a blind sign-in.
type outcome struct {
	Tokens
	Code        string `json:"code"`
	TokenURL    string `json:"tokenUrl"`
	ClientID    string `json:"clientId"`
	RedirectURI string `json:"redirectUri"`
}

func waitFor(ctx context.Context, member, result string, endsAt time.Time) (outcome, error) {
	for {
		reply := ask(ctx, result+"&wait="+strconv.Itoa(waitSeconds), nil)
		var got outcome
		switch {
		case ctx.Err() != nil:
			return got, &Failure{Code: "cancelled"}
		case reply.status == 200 && reply.errorCode() != "":
			return got, &Failure{Code: reply.errorCode()}
		case reply.status == 200 && reply.into(&got, member):
			return got, nil
		case reply.status == 400:
			return got, &Failure{"refused", reply.text()}
		// The relay decides when the link has expired. The time here ends only polls that fail.
		case reply.status == 410, reply.status != 204 && time.Now().After(endsAt):
			return got, &Failure{Code: "expired"}
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
	var offer struct {
		Services []struct{ Service, Blind string }
	}
	last, err := askUntilAnswered(ctx, relay+"/services", nil, &offer, "services")
	if last.status == 404 {
		return false, nil
	}
	for _, each := range offer.Services {
		if each.Service == service {
			return each.Blind == "can" || each.Blind == "must", nil
		}
	}
	return false, err
}

// exchange sends the code, which works once (RFC 6749 §4.1.2): again only if there was no response, and once.
func exchange(ctx context.Context, got outcome, verifier string) (Saved, error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {got.Code},
		"redirect_uri": {got.RedirectURI}, "client_id": {got.ClientID}, "code_verifier": {verifier}}
	reply := ask(ctx, got.TokenURL, form)
	if reply.status == 0 {
		sleep(ctx, reply.pause)
		reply = ask(ctx, got.TokenURL, form)
	}
	var granted fromProvider
	if reply.status == 200 && reply.into(&granted, "access_token") {
		return Saved{Tokens: granted.tokens(""), TokenURL: got.TokenURL, ClientID: got.ClientID}, nil
	}
	if ctx.Err() != nil {
		return Saved{}, &Failure{Code: "cancelled"}
	}
	return Saved{}, &Failure{"exchange_failed", reply.text()}
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

// askUntilAnswered reads the JSON of a 200 that has the member into target. It tries again what may pass.
// It returns the last reply.
func askUntilAnswered(ctx context.Context, address string, body, target any, member string) (reply, error) {
	var last reply
	for try := 0; try < tries && ctx.Err() == nil; try++ {
		last = ask(ctx, address, body)
		if last.status == 200 && last.into(target, member) {
			return last, nil
		}
		if last.status >= 400 && last.status < 500 && last.status != 429 {
			if last.errorCode() != "" {
				return last, &Failure{Code: last.errorCode()}
			}
			return last, &Failure{"refused", last.text()}
		}
		sleep(ctx, last.pause)
	}
	if ctx.Err() != nil {
		return last, &Failure{Code: "cancelled"}
	}
	if last.status == 0 {
		return last, &Failure{"unreachable", address}
	}
	return last, &Failure{"unreachable", last.text()}
}

type reply struct {
	status int // 0: no complete response.
	body   []byte
	pause  time.Duration // Before a retry.
}

// errorCode is the `error` of a JSON object, or empty.
func (r reply) errorCode() string {
	var failed struct{ Error string }
	_ = json.Unmarshal(r.body, &failed)
	return failed.Error
}

// text is what may be shown. JSON and a 200 may hold tokens: of those only `error` is.
func (r reply) text() string {
	if r.status == 200 || json.Valid(r.body) {
		return r.errorCode()
	}
	return strings.TrimSpace(string(r.body))
}

// into reports whether the body is a JSON object with that member, as a page of a proxy is not.
func (r reply) into(target any, member string) bool {
	var members map[string]any
	isObject := json.Unmarshal(r.body, &members) == nil
	return isObject && members[member] != nil && json.Unmarshal(r.body, target) == nil
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
	return reply{response.StatusCode, received, lost.pause + time.Duration(seconds)*time.Second}
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
