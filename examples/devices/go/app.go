// What a finished app adds to signin.go: tokens that are kept and refreshed when they are due, a new link
// for one that has expired, and cancelling.
//
//	go run signin.go app.go https://relay.example mal
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	links         = 3  // A link that has expired is replaced, but not for ever on a forgotten screen.
	marginSeconds = 60 // Tokens are refreshed this long before they expire, or halfway if that is later.
	// Another process may have used a refused refresh token first, and be about to save the next.
	othersSeconds  = 3
	unsavedSeconds = 5 // A program that ended would lose tokens that could not be saved.
)

// isDue: where the provider names no expiry, only its API says it, with a 401.
func (s Saved) isDue() bool {
	left, margin := s.ExpiresAt-time.Now().Unix(), s.ExpiresIn/2
	if margin > marginSeconds {
		margin = marginSeconds
	}
	// More than they ever had: the clock was set back since they were saved.
	wasSetBack := left > s.ExpiresIn
	return s.ExpiresAt != 0 && (left <= margin || wasSetBack)
}

// Keeper keeps the tokens of one service in a file.
type Keeper struct {
	Relay, Service, File string
	Show                 func(Link)
	oneAtATime           sync.Mutex // The others then find what the first has saved.
	unsaved              *Saved     // What could not be saved: the app goes on with it until it ends.
}

// Tokens are valid: the saved ones, refreshed if they are due, or those of a new sign-in.
// rejected is an access token that the provider's API answered with 401, or empty.
// With not_saved there are tokens too: use them. The next call saves them first.
func (k *Keeper) Tokens(ctx context.Context, rejected string) (Saved, error) {
	k.oneAtATime.Lock()
	defer k.oneAtATime.Unlock()
	saved, err := k.load()
	if saved.AccessToken != "" && saved.AccessToken != rejected && !saved.isDue() {
		return saved, err
	}
	if saved.RefreshToken != "" {
		// Not with ctx: a refresh token may be good for one use, so the new one is saved even after a cancellation.
		fresh, err := k.refresh(context.Background(), saved)
		if err == nil {
			if fresh.RefreshToken == "" {
				fresh.RefreshToken = saved.RefreshToken // The old one stays if there is no new one.
			}
			return k.save(fresh)
		}
		if codeOf(err) != "invalid_grant" {
			return Saved{}, err // The saved tokens stay: try later.
		}
		sleep(ctx, othersSeconds*time.Second)
		k.unsaved = nil
		if newer, _ := k.load(); newer.RefreshToken != "" && newer.RefreshToken != saved.RefreshToken {
			return newer, nil
		}
	}
	for link := 1; ; link++ {
		saved, err := SignIn(ctx, k.Relay, k.Service, k.Show, k.save)
		if codeOf(err) != "expired" || link == links {
			return saved, err
		}
	}
}

func (k *Keeper) refresh(ctx context.Context, saved Saved) (Saved, error) {
	if saved.TokenURL == "" {
		body := map[string]string{"service": k.Service, "refreshToken": saved.RefreshToken}
		got, err := askUntilAnswered(ctx, k.Relay+"/refresh", body, "accessToken")
		return Saved{Tokens: got.json.fromRelay()}, err
	}
	// After a blind sign-in.
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {saved.RefreshToken}, "client_id": {saved.ClientID}}
	got, err := askUntilAnswered(ctx, saved.TokenURL, form, "access_token")
	return Saved{Tokens: got.json.fromProvider(), TokenURL: saved.TokenURL, ClientID: saved.ClientID}, err
}

func (k *Keeper) load() (saved Saved, err error) {
	if k.unsaved != nil {
		return k.save(*k.unsaved)
	}
	if text, err := os.ReadFile(k.File); err == nil {
		_ = json.Unmarshal(text, &saved)
	}
	return saved, nil
}

// save makes a file that only this user can read, and that is never half written.
func (k *Keeper) save(saved Saved) (Saved, error) {
	if saved.ExpiresAt == 0 && saved.ExpiresIn > 0 {
		saved.ExpiresAt = time.Now().Unix() + saved.ExpiresIn
	}
	text, _ := json.Marshal(saved)
	written := fmt.Sprintf("%s.%d", k.File, os.Getpid()) // Another process may be saving too.
	err := os.WriteFile(written, text, 0o600)
	if err == nil {
		err = os.Rename(written, k.File)
	}
	if err != nil {
		_ = os.Remove(written)
		k.unsaved = &saved
		return saved, &Failure{"not_saved", err.Error()}
	}
	k.unsaved = nil
	return saved, nil
}

func codeOf(err error) string {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Code
	}
	return ""
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: signin RELAY SERVICE, such as https://relay.example mal")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // A second Ctrl-C does not wait for the relay.
	}()
	rand.Seed(time.Now().UnixNano())
	relay, service := strings.TrimSuffix(os.Args[1], "/"), os.Args[2]
	show := func(link Link) {
		// An app shows the picture of the QR code, or draws one of link.Link.
		fmt.Printf("Open %s\nor type %s at %s/link\nQR code: %s\n", link.Link, link.UserCode, relay, link.QR)
	}
	keeper := &Keeper{Relay: relay, Service: service, File: "tokens-" + service + ".json", Show: show}
	_, err := keeper.Tokens(ctx, "")
	for keeper.unsaved != nil && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "\n%v\nTrying again until Ctrl-C.\n", err)
		sleep(ctx, unsavedSeconds*time.Second)
		_, err = keeper.Tokens(ctx, "")
	}
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
