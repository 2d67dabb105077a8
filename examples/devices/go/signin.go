// Signs a user in through a Sign-in Relay. Go 1.19 or newer, standard library only.
//
//	go run signin.go https://relay.example mal
//
// The first run shows a link, saves tokens.json and acknowledges it. Later runs refresh the tokens.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	waitSeconds = 25 // The relay holds a poll this long. Some proxies cut a request after 30 s.
	tries       = 6  // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
	links       = 3  // A link that has expired is replaced, but not for ever on a forgotten screen.
)

// http.Client has no timeout by default: a socket that died while the device slept would hang.
var client = &http.Client{Timeout: (waitSeconds + 15) * time.Second}

// Failure is access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
// expired, cancelled, refused, unreachable, or invalid_grant (refresh only: sign in again).
type Failure struct{ Code, Detail string }

func (f *Failure) Error() string {
	return strings.TrimSuffix(f.Code+": "+f.Detail, ": ")
}

func codeOf(err error) string {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}

type Tokens struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken,omitempty"`
	ExpiresIn    int    `json:"expiresIn,omitempty"`
}

type result struct {
	Tokens
	Error string `json:"error"`
}

// Session is one link. Its Secret is only for this device: never show it, log it or put it into a link.
type Session struct {
	Secret    string `json:"session"`
	Link      string `json:"link"`
	UserCode  string `json:"userCode"`
	QR        string `json:"qr"`
	ExpiresIn int    `json:"expiresIn"`
	ExpiresAt time.Time
	relay     string
}

type reply struct {
	status int // 0: no complete response.
	body   []byte
	pause  time.Duration
}

// into reports whether the body is a JSON object of that form.
func (r reply) into(target any) bool { return json.Unmarshal(r.body, target) == nil }

func (r reply) text() string { return strings.TrimSpace(string(r.body)) }

func (r reply) isRefusal() bool { return r.status >= 400 && r.status < 500 && r.status != 429 }

func ask(ctx context.Context, address string, body any) reply {
	// At random, so that a thousand devices do not return at the same moment.
	lost := reply{pause: time.Second + time.Duration(rand.Int63n(int64(2*time.Second)))}
	method, sent := http.MethodGet, []byte(nil)
	if body != nil {
		method = http.MethodPost
		sent, _ = json.Marshal(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(sent))
	if err != nil {
		return lost
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return lost
	}
	defer response.Body.Close()
	received, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return lost
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		if seconds > 60 {
			seconds = 60
		}
		lost.pause += time.Duration(seconds) * time.Second
	}
	return reply{response.StatusCode, received, lost.pause}
}

func sleep(ctx context.Context, pause time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

func Start(ctx context.Context, relay, service, device string) (*Session, error) {
	body := map[string]any{"service": service, "code": true, "ack": true, "device": device}
	var answer reply
	for try := 0; try < tries && ctx.Err() == nil; try++ {
		answer = ask(ctx, relay+"/auth/start", body)
		session := &Session{relay: relay}
		if answer.status == 200 && answer.into(session) && session.Secret != "" {
			session.ExpiresAt = time.Now().Add(time.Duration(session.ExpiresIn) * time.Second)
			return session, nil
		}
		if answer.isRefusal() {
			return nil, &Failure{"refused", answer.text()}
		}
		sleep(ctx, answer.pause)
	}
	if ctx.Err() != nil {
		return nil, &Failure{Code: "cancelled"}
	}
	return nil, &Failure{"unreachable", answer.text()}
}

func (s *Session) ask(ctx context.Context, query string) reply {
	return ask(ctx, s.relay+"/auth/result?session="+url.QueryEscape(s.Secret)+"&"+query, nil)
}

// Wait polls until there are tokens. End ctx to cancel.
func (s *Session) Wait(ctx context.Context) (Tokens, error) {
	// After a sleep the next poll says whether the link is still valid: 410 if not.
	for time.Now().Before(s.ExpiresAt) && ctx.Err() == nil {
		askedAt := time.Now()
		answer := s.ask(ctx, "wait="+strconv.Itoa(waitSeconds))
		var got result
		if answer.status == 200 && answer.into(&got) {
			if got.Error != "" {
				return Tokens{}, &Failure{Code: got.Error}
			}
			if got.AccessToken != "" {
				return got.Tokens, nil
			}
		}
		if answer.status == 410 {
			break
		}
		if answer.status == 400 {
			return Tokens{}, &Failure{"refused", answer.text()}
		}
		// 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
		if answer.status == 204 {
			answer.pause = time.Until(askedAt.Add(time.Second))
		}
		if left := time.Until(s.ExpiresAt); answer.pause > left {
			answer.pause = left
		}
		sleep(ctx, answer.pause)
	}
	if ctx.Err() != nil {
		s.Cancel()
		return Tokens{}, &Failure{Code: "cancelled"}
	}
	return Tokens{}, &Failure{Code: "expired"}
}

func (s *Session) tell(query string) {
	for try := 0; try < tries; try++ {
		answer := s.ask(context.Background(), query)
		if answer.status == 204 || answer.status == 400 || answer.status == 410 {
			return
		}
		time.Sleep(answer.pause)
	}
}

// Acknowledge is called once the tokens are saved. If it fails, the relay forgets them after 60 s.
func (s *Session) Acknowledge() { s.tell("ack=1") }

// Cancel makes the link say that the device cancelled the sign-in.
func (s *Session) Cancel() { s.tell("cancel=1") }

// SignIn shows a link, and another one when it has expired.
func SignIn(ctx context.Context, relay, service string, show func(*Session), save func(Tokens) error) error {
	for link := 0; link < links; link++ {
		session, err := Start(ctx, relay, service, "Living room")
		if err != nil {
			return err
		}
		shown, hide := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			countdown(shown, session)
			close(done)
		}()
		show(session)
		tokens, err := session.Wait(ctx)
		hide()
		<-done
		if err == nil {
			if err = save(tokens); err == nil {
				session.Acknowledge()
			}
			return err
		}
		if codeOf(err) != "expired" {
			return err
		}
	}
	return &Failure{Code: "expired"}
}

// Refresh returns new tokens. unreachable: keep the old ones and try later. invalid_grant: sign in again.
func Refresh(ctx context.Context, relay, service, refreshToken string) (Tokens, error) {
	body := map[string]string{"service": service, "refreshToken": refreshToken}
	var answer reply
	for try := 0; try < tries; try++ {
		answer = ask(ctx, relay+"/refresh", body)
		var got result
		isObject := answer.into(&got)
		if answer.status == 200 && isObject && got.AccessToken != "" {
			if got.RefreshToken == "" {
				got.RefreshToken = refreshToken // The old one stays.
			}
			return got.Tokens, nil
		}
		if answer.status == 400 && isObject && got.Error != "" {
			return Tokens{}, &Failure{Code: got.Error}
		}
		if answer.isRefusal() {
			return Tokens{}, &Failure{"refused", answer.text()}
		}
		sleep(ctx, answer.pause)
	}
	return Tokens{}, &Failure{"unreachable", answer.text()}
}

// saveTokens writes a file that only this user can read, and that is never half written.
func saveTokens(tokens Tokens) error {
	text, _ := json.Marshal(tokens)
	if err := os.WriteFile("tokens.json.new", text, 0o600); err != nil {
		return err
	}
	return os.Rename("tokens.json.new", "tokens.json")
}

func show(session *Session) {
	fmt.Println("Open", session.Link)
	fmt.Printf("or type %s at %s/link\n", session.UserCode, session.relay)
	fmt.Println("QR code:", session.QR)
}

func countdown(ctx context.Context, session *Session) {
	for ctx.Err() == nil {
		left := int(time.Until(session.ExpiresAt).Seconds())
		fmt.Fprintf(os.Stderr, "\r%d:%02d ", left/60, left%60)
		sleep(ctx, time.Second)
	}
}

func run(ctx context.Context, relay, service string) error {
	var saved Tokens
	if text, err := os.ReadFile("tokens.json"); err == nil {
		_ = json.Unmarshal(text, &saved)
	}
	if saved.RefreshToken != "" {
		tokens, err := Refresh(ctx, relay, service, saved.RefreshToken)
		if err == nil {
			return saveTokens(tokens)
		}
		if codeOf(err) != "invalid_grant" {
			return err
		}
	}
	return SignIn(ctx, relay, service, show, saveTokens)
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	rand.Seed(time.Now().UnixNano())
	err := run(ctx, strings.TrimSuffix(os.Args[1], "/"), os.Args[2])
	if err == nil {
		fmt.Println("Signed in.")
		return
	}
	fmt.Fprintf(os.Stderr, "\n%v\n", err)
	if codeOf(err) == "cancelled" {
		os.Exit(130)
	}
	os.Exit(1)
}
