// What a finished app adds to signin.go: tokens that are kept and refreshed when they are due, a new link
// for one that has expired, a countdown, cancelling, a QR code.
//
//	go run signin.go app.go https://relay.example mal
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/png"
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
	marginSeconds = 60 // Tokens are refreshed this long before they expire.
)

// Saved are tokens with the time at which they expire, in Unix seconds; 0 if the provider names none.
type Saved struct {
	Tokens
	ExpiresAt int64 `json:"expiresAt,omitempty"`
}

// isDue: where the provider names no expiry, only its API says it, with a 401.
func (s Saved) isDue() bool {
	left := s.ExpiresAt - time.Now().Unix()
	// More than they ever had: the clock was set back since they were saved.
	wasSetBack := left > s.ExpiresIn
	return s.ExpiresAt != 0 && (left < marginSeconds || wasSetBack)
}

// Keeper keeps the tokens of one service in a file.
type Keeper struct {
	Relay, Service, File string
	oneAtATime           sync.Mutex // The others then find what the first has saved.
}

// Tokens are valid: the saved ones, refreshed if they are due, or those of a new sign-in.
// rejected is an access token that the provider's API answered with 401, or empty.
func (k *Keeper) Tokens(ctx context.Context, rejected string) (Tokens, error) {
	k.oneAtATime.Lock()
	defer k.oneAtATime.Unlock()
	var saved Saved
	if text, err := os.ReadFile(k.File); err == nil {
		_ = json.Unmarshal(text, &saved)
	}
	if saved.AccessToken != "" && saved.AccessToken != rejected && !saved.isDue() {
		return saved.Tokens, nil
	}
	var got Tokens
	keep := func(tokens Tokens) error {
		got = tokens
		return k.save(tokens)
	}
	if saved.RefreshToken != "" {
		// Not with ctx: a refresh token may be good for one use, so whoever cancels gets the new one saved.
		tokens, err := k.refresh(context.Background(), saved.Tokens)
		if err == nil {
			return tokens, k.save(tokens)
		}
		if codeOf(err) != "invalid_grant" {
			return Tokens{}, err // The saved tokens stay: try later.
		}
	}
	var err error
	for link := 0; link < links; link++ {
		if err = k.signInOnce(ctx, keep); codeOf(err) != "expired" {
			break
		}
	}
	return got, err
}

func (k *Keeper) refresh(ctx context.Context, saved Tokens) (Tokens, error) {
	refreshToken := saved.RefreshToken
	// Without a new refresh token the old one stays.
	if saved.TokenURL != "" { // Of a blind sign-in.
		tokens := Tokens{RefreshToken: refreshToken, TokenURL: saved.TokenURL, ClientID: saved.ClientID}
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}, "client_id": {saved.ClientID}}
		return askProvider(ctx, tokens, form)
	}
	body := map[string]string{"service": k.Service, "refreshToken": refreshToken}
	fresh := fromRelay{RefreshToken: refreshToken}
	err := askUntilAnswered(ctx, k.Relay+"/refresh", body, &fresh, "accessToken")
	return fresh.tokens(), err
}

func (k *Keeper) signInOnce(ctx context.Context, keep func(Tokens) error) error {
	var counting sync.WaitGroup
	shown, hide := context.WithCancel(ctx)
	defer counting.Wait()
	defer hide()
	show := func(link Link) {
		fmt.Println("Open", link.Link)
		fmt.Printf("or type %s at %s/link\n", link.UserCode, k.Relay)
		counting.Add(1)
		go func() {
			defer counting.Done()
			fmt.Print(drawQR(shown, link.QR))
			countdown(shown, time.Duration(link.ExpiresIn)*time.Second)
		}()
	}
	return SignIn(ctx, k.Relay, k.Service, show, func(tokens Tokens) error {
		defer hide()
		return keep(tokens)
	})
}

// save writes a file that only this user can read, and that is never half written.
func (k *Keeper) save(tokens Tokens) error {
	saved := Saved{Tokens: tokens}
	if tokens.ExpiresIn > 0 {
		saved.ExpiresAt = time.Now().Unix() + tokens.ExpiresIn
	}
	text, _ := json.Marshal(saved)
	written := fmt.Sprintf("%s.%d", k.File, os.Getpid()) // Another process may be saving too.
	if err := os.WriteFile(written, text, 0o600); err != nil {
		return err
	}
	return os.Rename(written, k.File)
}

func countdown(ctx context.Context, left time.Duration) {
	endsAt := time.Now().Add(left)
	for ctx.Err() == nil {
		seconds := int(time.Until(endsAt).Seconds())
		if seconds < 0 {
			seconds = 0 // The device slept, and has not asked the relay yet.
		}
		fmt.Fprintf(os.Stderr, "\r%d:%02d ", seconds/60, seconds%60)
		sleep(ctx, time.Second)
	}
}

// drawQR draws the relay's picture in the terminal, black on white whatever the terminal's theme is. One
// character is two modules, one above the other. Without the picture there is its address.
func drawQR(ctx context.Context, address string) string {
	reply := ask(ctx, address+"?size=100", nil)
	picture, err := png.Decode(bytes.NewReader(reply.body))
	if err != nil {
		return "QR code: " + address + "\n"
	}
	blocks := map[[2]bool]string{{false, false}: " ", {true, false}: "▀", {false, true}: "▄", {true, true}: "█"}
	corner, size := 0, picture.Bounds().Dx()
	isDark := func(x, y int) bool {
		return y < size && color.GrayModel.Convert(picture.At(x, y)).(color.Gray).Y < 128
	}
	for corner < size-1 && !isDark(corner, corner) {
		corner++
	}
	module := corner / 4 // The margin is four modules wide.
	if module == 0 {
		return "QR code: " + address + "\n"
	}
	var drawn strings.Builder
	for y := 0; y < size; y += 2 * module {
		drawn.WriteString("\x1b[38;5;16;48;5;231m")
		for x := 0; x < size; x += module {
			drawn.WriteString(blocks[[2]bool{isDark(x, y), isDark(x, y+module)}])
		}
		drawn.WriteString("\x1b[0m\n")
	}
	return drawn.String()
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
	keeper := &Keeper{Relay: strings.TrimSuffix(os.Args[1], "/"), Service: os.Args[2], File: "tokens-" + os.Args[2] + ".json"}
	_, err := keeper.Tokens(ctx, "")
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
