/*
 * Signs a user in through a Sign-in Relay, from the app of a web TV (webOS 3, Tizen 3 and newer).
 * ES5 and XMLHttpRequest: no fetch, no Promise, no AbortController, no polyfill.
 *
 *   var current = RelaySignIn.begin({
 *     relay: 'https://relay.example', service: 'mal', device: 'Living room',
 *     onPrompt: function (prompt) {},      // show prompt.link, prompt.userCode and <img src=prompt.qr>
 *     onCountdown: function (seconds) {},  // once a second
 *     onTokens: function (tokens) {},      // they are saved already
 *     onError: function (code, detail) {}  // see FINAL ERRORS
 *   });
 *   current.cancel();                      // on the Back key; nothing is called after it
 *   RelaySignIn.refresh({ relay: …, service: …, onTokens: …, onError: … });
 *
 * FINAL ERRORS: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
 * expired, refused, unreachable, and of refresh: invalid_grant (sign in again).
 */
var RelaySignIn = (function () {
  var WAIT_SECONDS = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
  var TIMEOUT_MS = (WAIT_SECONDS + 15) * 1000;
  var TRIES = 6; // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
  var LINKS = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
  var STORAGE_KEY = 'relay-tokens';

  // Calls back once with { status, body, text, pauseMs }. Status 0: no complete response.
  function ask(method, url, body, callback) {
    var request = new XMLHttpRequest();
    var isDone = false;
    // An engine that was suspended may report neither an error nor a timeout: so a timer of our own.
    var watchdog = setTimeout(lost, TIMEOUT_MS);

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
        body: parsed && typeof parsed === 'object' ? parsed : null,
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

  function isRefusal(status) {
    return status >= 400 && status < 500 && status !== 429;
  }

  // Calls `handle` with each reply until it returns true; `giveUp` gets the last one.
  function repeat(method, url, body, handle, giveUp) {
    var tried = 0;
    function next() {
      tried += 1;
      ask(method, url, body, function (reply) {
        if (handle(reply)) return;
        if (tried === TRIES) giveUp(reply);
        else setTimeout(next, reply.pauseMs);
      });
    }
    next();
  }

  function save(tokens) {
    // Apps on webOS and Tizen have a storage of their own each. Private mode and a full disk throw.
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(tokens));
    } catch (ignored) {
      // They last until the app is closed.
    }
  }

  function load() {
    try {
      return JSON.parse(localStorage.getItem(STORAGE_KEY));
    } catch (ignored) {
      return null;
    }
  }

  function begin(options) {
    var secret = ''; // Only for this device: never show it, log it or put it into a link.
    var expiresAtMs = 0;
    var link = 0;
    var isOver = false;
    var polling = null;
    var retry = null;
    var ticking = setInterval(tick, 1000);

    function nowMs() {
      return Date.now();
    }

    function secondsLeft() {
      return Math.max(0, Math.round((expiresAtMs - nowMs()) / 1000));
    }

    function tick() {
      if (secret && options.onCountdown) options.onCountdown(secondsLeft());
    }

    // Back from standby or from another app: the poll may be dead without a sign of it.
    function onVisible() {
      if (!document.hidden && polling) polling.abandon();
    }

    function end() {
      isOver = true;
      clearInterval(ticking);
      clearTimeout(retry);
      document.removeEventListener('visibilitychange', onVisible);
    }

    function fail(code, detail) {
      end();
      options.onError(code, detail || '');
    }

    function tell(query) {
      function done(reply) {
        return reply.status === 204 || reply.status === 400 || reply.status === 410;
      }
      repeat('GET', resultUrl(query), null, done, function () {});
    }

    function resultUrl(query) {
      return options.relay + '/auth/result?session=' + encodeURIComponent(secret) + '&' + query;
    }

    function start() {
      link += 1;
      if (link > LINKS) {
        fail('expired');
        return;
      }
      var body = { service: options.service, code: true, ack: true, device: options.device };
      function onReply(reply) {
        if (reply.status === 200 && reply.body) {
          secret = reply.body.session;
          if (isOver) {
            tell('cancel=1');
            return true;
          }
          expiresAtMs = nowMs() + reply.body.expiresIn * 1000;
          options.onPrompt({
            link: reply.body.link,
            userCode: reply.body.userCode,
            codeAddress: options.relay + '/link',
            qr: reply.body.qr,
            expiresIn: reply.body.expiresIn,
          });
          poll();
          return true;
        }
        if (isOver) return true;
        if (isRefusal(reply.status)) {
          fail('refused', reply.text);
          return true;
        }
        return false;
      }
      repeat('POST', options.relay + '/auth/start', body, onReply, function (reply) {
        if (!isOver) fail('unreachable', reply.text);
      });
    }

    function poll() {
      retry = null;
      var askedAtMs = nowMs();
      polling = ask('GET', resultUrl('wait=' + WAIT_SECONDS), null, function (reply) {
        polling = null;
        if (isOver) return;
        if (reply.status === 200 && reply.body && reply.body.error) {
          fail(reply.body.error);
        } else if (reply.status === 200 && reply.body && reply.body.accessToken) {
          end();
          save(reply.body);
          tell('ack=1'); // If it fails, the relay forgets them after 60 s.
          options.onTokens(reply.body);
        } else if (reply.status === 400) {
          fail('refused', reply.text);
        } else if (reply.status === 410 || (reply.status !== 204 && secondsLeft() === 0)) {
          start();
        } else {
          // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
          var pauseMs = reply.status === 204 ? askedAtMs + 1000 - nowMs() : reply.pauseMs;
          retry = setTimeout(poll, Math.max(0, Math.min(pauseMs, secondsLeft() * 1000)));
        }
      });
    }

    document.addEventListener('visibilitychange', onVisible);
    start();
    return {
      cancel: function () {
        if (isOver) return;
        end();
        if (polling) polling.abandon();
        // The link then says that the device cancelled the sign-in.
        if (secret) tell('cancel=1');
      },
    };
  }

  // unreachable: keep the old tokens and try later. invalid_grant: sign in again.
  function refresh(options) {
    var saved = load() || {};
    if (!saved.refreshToken) {
      options.onError('invalid_grant', '');
      return;
    }
    var body = { service: options.service, refreshToken: saved.refreshToken };
    function onReply(reply) {
      if (reply.status === 200 && reply.body && reply.body.accessToken) {
        // Without a new refresh token the old one stays.
        reply.body.refreshToken = reply.body.refreshToken || saved.refreshToken;
        save(reply.body);
        options.onTokens(reply.body);
        return true;
      }
      if (reply.status === 400 && reply.body && reply.body.error) {
        options.onError(reply.body.error, '');
        return true;
      }
      if (isRefusal(reply.status)) {
        options.onError('refused', reply.text);
        return true;
      }
      return false;
    }
    repeat('POST', options.relay + '/refresh', body, onReply, function (reply) {
      options.onError('unreachable', reply.text);
    });
  }

  return { begin: begin, refresh: refresh, load: load };
})();
