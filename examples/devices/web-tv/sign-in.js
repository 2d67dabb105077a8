/*
 * Signs a user in through a Sign-in Relay, from the app of a web TV (webOS 3, Tizen 3 and newer).
 * ES5 and XMLHttpRequest: no fetch, no Promise, no AbortController, no polyfill.
 *
 *   var options = {
 *     relay: 'https://relay.example', service: 'mal', device: 'Living room',
 *     onPrompt: function (prompt) {},      // show prompt.link, prompt.userCode and <img src=prompt.qr>
 *     onCountdown: function (seconds) {},  // once a second
 *     onTokens: function (tokens) {},      // they are saved already
 *     onError: function (code, detail, tokens) {}  // see FINAL ERRORS
 *   };
 *   RelaySignIn.tokens(options);           // the saved ones, refreshed if they are due; or invalid_grant:
 *   var current = RelaySignIn.begin(options);
 *   current.cancel();                      // on the Back key; nothing is called after it
 *
 * Set options.rejected to an access token that the provider's API answered with 401.
 *
 * FINAL ERRORS: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
 * expired, refused, unreachable, and of tokens: invalid_grant (sign in again). not_saved: the storage
 * is full or forbidden. The app has the tokens, until it is closed.
 */
var RelaySignIn = (function () {
  var WAIT_SECONDS = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
  var TIMEOUT_MS = (WAIT_SECONDS + 15) * 1000;
  var SHORT_TIMEOUT_MS = 5000; // To acknowledge and cancel: the relay forgets in 60 s.
  var TRIES = 6; // For all but a poll, which is repeated until the link expires.

  // The sign-in itself: one link. `screen` hears of it; its isOver says that nobody waits any more.
  function signIn(options, screen) {
    var body = { service: options.service, code: true, ack: true, device: options.device };
    askUntilAnswered(options.relay + '/auth/start', body, 'session', screen, function (answer) {
      // The poll secret is only for this device: never show it, log it or put it into a link.
      var resultUrl =
        options.relay + '/auth/result?session=' + encodeURIComponent(answer.session) + '&';
      // performance.now, because the time of day may not be set yet, or jump.
      var endsAtMs = performance.now() + answer.expiresIn * 1000;
      screen.show(answer, endsAtMs, resultUrl);
      poll();

      function poll() {
        if (screen.isOver) return;
        var askedAtMs = performance.now();
        screen.polling = ask('GET', resultUrl + 'wait=' + WAIT_SECONDS, null, function (reply) {
          screen.polling = null;
          if (screen.isOver) return;
          if (reply.status === 200 && reply.body.error) {
            screen.fail(reply.body.error);
          } else if (reply.status === 200 && reply.body.accessToken) {
            if (save(reply.body)) {
              tell(resultUrl + 'ack=1'); // Only now: until then a lost response costs no sign-in.
              screen.succeed(reply.body);
            } else screen.fail('not_saved', 'The storage is full or forbidden', reply.body);
          } else if (reply.status === 400) {
            screen.fail('refused', reply.text);
            // The relay decides when the link has expired. The time here ends only polls that fail.
          } else if (
            reply.status === 410 ||
            (reply.status !== 204 && performance.now() > endsAtMs)
          ) {
            screen.nextLink();
          } else {
            // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
            var pauseMs =
              reply.status === 204 ? askedAtMs + 1000 - performance.now() : reply.pauseMs;
            setTimeout(poll, Math.max(0, pauseMs));
          }
        });
      }
    });
  }

  // Acknowledges or cancels.
  function tell(url) {
    var tried = 0;
    function next() {
      tried += 1;
      ask('GET', url, null, answered, SHORT_TIMEOUT_MS);
    }
    function answered(reply) {
      var isHeard = reply.status === 204 || reply.status === 400 || reply.status === 410;
      if (!isHeard && tried < TRIES) setTimeout(next, reply.pauseMs);
    }
    next();
  }

  // Calls `then` with the JSON of a 200 that has the member. Tries again what may pass.
  function askUntilAnswered(url, body, member, caller, then) {
    var tried = 0;
    function next() {
      if (caller.isOver) return;
      tried += 1;
      ask('POST', url, body, function (reply) {
        if (reply.status === 200 && reply.body[member]) then(reply.body);
        else if (reply.status >= 400 && reply.status < 500 && reply.status !== 429) {
          caller.fail(reply.body.error || 'refused', reply.body.error ? '' : reply.text);
        } else if (tried < TRIES) setTimeout(next, reply.pauseMs);
        else caller.fail('unreachable', reply.text);
      });
    }
    next();
  }

  // Calls back once with { status, body, text, pauseMs }. Status 0: no complete response.
  function ask(method, url, body, callback, timeoutMs) {
    var request = new XMLHttpRequest();
    var isDone = false;
    // An engine that was suspended may report neither an error nor a timeout: so a timer of our own.
    var watchdog = setTimeout(lost, timeoutMs || TIMEOUT_MS);

    function finish(status, text, retryAfter) {
      if (isDone) return;
      isDone = true;
      clearTimeout(watchdog);
      var parsed;
      try {
        parsed = JSON.parse(text);
      } catch (ignored) {
        // A page of a proxy.
      }
      callback({
        status: status,
        body: parsed && typeof parsed === 'object' ? parsed : {},
        text: String(text).trim().slice(0, 100),
        // At random, so that a thousand televisions do not return at the same moment.
        pauseMs: 1000 + Math.random() * 2000 + Math.min(Number(retryAfter) || 0, 60) * 1000,
      });
    }

    function lost() {
      finish(0, '', 0);
      request.abort();
    }

    try {
      request.open(method, url, true);
      // text/plain, because JSON would cost a preflight. The relay reads the body as JSON.
      if (body) request.setRequestHeader('Content-Type', 'text/plain');
      request.onload = function () {
        // Readable across origins only if the relay exposes it: then null, and the pause is short.
        finish(request.status, request.responseText, request.getResponseHeader('Retry-After'));
      };
      request.onerror = request.onabort = lost;
      request.send(body ? JSON.stringify(body) : null);
    } catch (ignored) {
      lost();
    }
    return { abandon: lost };
  }

  // --- What a finished app adds: a countdown, new links, cancelling, sleep, tokens that are kept. ---

  var LINKS = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
  var MARGIN_MS = 60000; // Tokens are refreshed this long before they expire.
  var STORAGE_KEY = 'relay-tokens';

  function begin(options) {
    var link = 0;
    var endsAtMs = 0;
    var resultUrl = '';
    var ticking = setInterval(tick, 1000);
    var screen = {
      isOver: false,
      polling: null,
      show: function (answer, itsEndMs, itsResultUrl) {
        endsAtMs = itsEndMs;
        resultUrl = itsResultUrl;
        if (screen.isOver) {
          tell(resultUrl + 'cancel=1'); // Back was pressed while the relay was asked for a link.
          return;
        }
        options.onPrompt({
          link: answer.link,
          userCode: answer.userCode,
          codeAddress: options.relay + '/link',
          qr: answer.qr,
          expiresIn: answer.expiresIn,
        });
      },
      succeed: function (tokens) {
        end();
        options.onTokens(tokens);
      },
      nextLink: function () {
        link += 1;
        if (link > LINKS) screen.fail('expired');
        else signIn(options, screen);
      },
      fail: function (code, detail, tokens) {
        if (screen.isOver) return;
        end();
        options.onError(code, detail || '', tokens);
      },
    };

    function tick() {
      var leftMs = Math.max(0, endsAtMs - performance.now());
      if (endsAtMs && options.onCountdown) options.onCountdown(Math.round(leftMs / 1000));
    }

    // Back from standby or from another app: the poll may be dead without a sign of it.
    function onVisible() {
      if (!document.hidden && screen.polling) screen.polling.abandon();
    }

    function end() {
      screen.isOver = true;
      clearInterval(ticking);
      document.removeEventListener('visibilitychange', onVisible);
    }

    document.addEventListener('visibilitychange', onVisible);
    screen.nextLink();
    return {
      cancel: function () {
        if (screen.isOver) return;
        end();
        if (screen.polling) screen.polling.abandon();
        // The link then says that the device cancelled the sign-in.
        if (resultUrl) tell(resultUrl + 'cancel=1');
      },
    };
  }

  var waiting = []; // For the one refresh that is under way.

  // invalid_grant: sign in again. After any other error the saved tokens stay: try later.
  function tokens(options) {
    var saved = load() || {};
    if (saved.accessToken && saved.accessToken !== options.rejected && !isDue(saved)) {
      options.onTokens(saved);
      return;
    }
    if (!saved.refreshToken) {
      options.onError('invalid_grant', '');
      return;
    }
    waiting.push(options);
    if (waiting.length > 1) return;
    var body = { service: options.service, refreshToken: saved.refreshToken };
    var caller = {
      isOver: false,
      fail: function (code, detail) {
        each(function (one) {
          one.onError(code, detail);
        });
      },
    };
    askUntilAnswered(options.relay + '/refresh', body, 'accessToken', caller, function (answer) {
      // Without a new refresh token the old one stays.
      answer.refreshToken = answer.refreshToken || saved.refreshToken;
      save(answer); // If it fails, they last until the app is closed.
      each(function (one) {
        one.onTokens(answer);
      });
    });
  }

  function each(callback) {
    waiting.splice(0).forEach(callback);
  }

  // Where the provider names no expiry, only its API says it, with a 401.
  function isDue(saved) {
    if (!saved.expiresAt) return false;
    var leftMs = saved.expiresAt - Date.now();
    // More than they ever had: the clock was set back since they were saved.
    return leftMs < MARGIN_MS || leftMs > saved.expiresIn * 1000;
  }

  // Whether they will be there when the app starts again.
  function save(saved) {
    if (saved.expiresIn) saved.expiresAt = Date.now() + saved.expiresIn * 1000;
    // Apps on webOS and Tizen have a storage of their own each. Private mode and a full disk throw.
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(saved));
      return true;
    } catch (ignored) {
      return false;
    }
  }

  function load() {
    try {
      return JSON.parse(localStorage.getItem(STORAGE_KEY));
    } catch (ignored) {
      return null;
    }
  }

  return { begin: begin, tokens: tokens };
})();
