/** Faults of what is around the relay: the process, the client, the commands, the files to deploy it. */
import type { Fault } from './faults.ts';

const ASK = 'client/src/ask.ts';
const SESSION = 'client/src/session.ts';
const KEEPER = 'client/src/keeper.ts';
const NGINX = 'deploy/nginx.conf';

export const EDGE_FAULTS: readonly Fault[] = [
  {
    name: 'the relay is told that tokens arrived before they are stored',
    file: SESSION,
    before: `    store(call, polling.save, tokens, (failure) => {
      if (!failure) tell(context, 'ack', another(call), () => {});`,
    after: `    store(call, polling.save, tokens, (failure) => {
      tell(context, 'ack', another(call), () => {});`,
    tests: ['test/client/saving.test.ts'],
  },
  {
    name: 'a device that slept gives up at once',
    file: ASK,
    before: 'if (askedAtMs >= endMs || (!sessionEndMs && pages === MAX_PAGES)) {',
    after: 'if (now() >= endMs || (!sessionEndMs && pages === MAX_PAGES)) {',
    tests: ['test/client/rules.test.ts'],
  },
  {
    name: 'a connection that broke while the device slept is waited for',
    file: ASK,
    before: 'if (isJump || leftMs <= 0) run();',
    after: 'if (leftMs <= 0) run();',
    tests: ['test/client/asleep.test.ts'],
  },
  {
    name: 'a proxy that says a day in Retry-After stops the device',
    file: ASK,
    before: 'const leastMs = Math.min(Number(retryAfter) * 1_000 || 0, LONGEST_RETRY_AFTER_MS);',
    after:
      'const leastMs = Math.max(Number(retryAfter) * 1_000 || 0, 0);\n    void LONGEST_RETRY_AFTER_MS;',
    tests: ['test/client/hostile.test.ts'],
  },
  {
    name: 'a captive portal is taken for a refusal of the relay',
    file: ASK,
    before: ' && (isRedirect || !isHtml);',
    after: ';',
    tests: ['test/client/rules.test.ts'],
  },
  {
    name: 'an error of the SDK has the query of a redirect, with its secrets',
    file: ASK,
    before: "`.replace(/[?#].*/, '').slice(0, 99);\n  const what",
    after: '`.slice(0, 999);\n  const what',
    tests: ['test/client/hostile.test.ts'],
  },
  {
    name: 'an error of the SDK has half of a JSON body, with its tokens',
    file: ASK,
    before: 'const isPlain = status > 200 && !/^\\s*[[{"]/.test(text);',
    after: 'const isPlain = status >= 200;',
    tests: ['test/client/hostile.test.ts'],
  },
  {
    name: 'a user who has signed out meanwhile gets the refreshed tokens back',
    file: KEEPER,
    before: 'if (isGone || (stored && stored.refreshToken !== spent)) {',
    after: 'if (!isGone && stored && stored.refreshToken !== spent) {',
    tests: ['test/client/keeper.test.ts'],
  },
  {
    name: 'the tokens of another user are overwritten by a refresh that ended late',
    file: KEEPER,
    before: 'if (isGone || (stored && stored.refreshToken !== spent)) {',
    after: 'if (isGone) {',
    tests: ['test/client/keeper.test.ts'],
  },
  {
    name: 'tokens that could not be saved are refreshed again with a spent token',
    file: KEEPER,
    before: 'unsaved = { spent, tokens };',
    after: '',
    tests: ['test/client/keeper.test.ts'],
  },
  {
    name: 'of two processes the one that lost the race signs the user out',
    file: KEEPER,
    before: "else if ((reason as Failure).code === 'invalid_grant') recheck(spent, reason, 0);",
    after: '',
    tests: ['test/client/keeper.test.ts'],
  },
  {
    name: 'one caller that throws keeps the token from the others',
    file: KEEPER,
    before: `      } catch (error) {
        later(0, () => {
          throw error;
        });
      }`,
    after: `      } catch (error) {
        throw error;
      }`,
    tests: ['test/client/rules.test.ts'],
  },
  {
    name: 'a clock that was set back makes expired tokens valid',
    file: KEEPER,
    before: 'return !!accessToken && accessToken !== rejected && left > 0 && isClockGood;',
    after: 'return !!accessToken && accessToken !== rejected && left > 0 && (isClockGood || true);',
    tests: ['test/client/keeper.test.ts'],
  },
  {
    name: 'a blind sign-in sends its verifier to the relay',
    file: SESSION,
    before: '(tokenUrl === options.tokenUrl || tokenUrl.indexOf(own));',
    after: '(tokenUrl === options.tokenUrl || !!own);',
    tests: ['test/client/saving.test.ts'],
  },
  {
    name: 'a blind sign-in accepts tokens that the relay has seen',
    file: SESSION,
    before: 'if (context.state.verifier) {',
    after: 'if (context.state.verifier && !json.accessToken) {',
    tests: ['test/client/saving.test.ts'],
  },
  {
    name: 'a link of the relay runs a script in the app',
    file: SESSION,
    before: 'const LINK = /^https?:',
    after: 'const LINK = /^[a-z]+:',
    tests: ['test/client/hostile.test.ts'],
  },
  {
    name: 'a sign-in that was kept goes on at another relay',
    file: SESSION,
    before: 'const isOurs = relay === addressOf(options.relay) && service === options.service;',
    after: 'const isOurs = service === options.service;',
    tests: ['test/client/saving.test.ts', 'test/client/killed.test.ts'],
  },
  {
    name: 'tokens of a blind sign-in are revoked at a server that did not make them',
    file: 'client/src/sign-out.ts',
    before: '|| originOf(url) !== originOf(tokenUrl)) return [];',
    after: ') return [];',
    tests: ['test/client/sign-out.test.ts'],
  },
  {
    name: 'a captive portal counts as the revocation',
    file: 'client/src/sign-out.ts',
    before: 'if (status === 200 && (isJson || request.isProvider)) {',
    after: 'if (status === 200 && (isJson || request.isProvider || true)) {',
    tests: ['test/client/sign-out.test.ts'],
  },
  {
    name: 'a relay sets the clipboard of a terminal',
    file: 'src/cli/terminal.ts',
    before: 'const shown = [...spellOutUnseen(line)];',
    after: 'const shown = [...line];\n  void spellOutUnseen;',
    tests: ['test/login/hostile.test.ts'],
  },
  {
    name: 'tokens with control characters reach the terminal',
    file: 'src/cli/terminal.ts',
    before: 'return JSON.stringify(value, null, 2).replace(/[^\\n -~]/g,',
    after: 'return JSON.stringify(value, null, 2).replace(/[\\x00-\\x09]/g,',
    tests: ['test/login/hostile.test.ts'],
  },
  {
    name: 'other users of the machine can read the tokens',
    file: 'src/cli/login/output.ts',
    before: "isReplaced ? 'wx' : 'w', 0o600)",
    after: "isReplaced ? 'wx' : 'w', 0o644)",
    tests: ['test/login/login.test.ts'],
  },
  {
    name: 'a disk that is full leaves half a file of tokens',
    file: 'src/cli/login/output.ts',
    before: 'if (isReplaced) rmSync(written, { force: true });',
    after: '',
    tests: ['test/login/login.test.ts'],
  },
  {
    name: 'Ctrl-C does not cancel the sign-in at the relay',
    file: 'src/cli/login/command.ts',
    before: 'if (error instanceof Stopped) void session.cancel();',
    after: '',
    tests: ['test/login/login.test.ts'],
  },
  {
    name: 'a relay that starts removes the socket of another program',
    file: 'src/server/unix-socket.ts',
    before: "if (code === 'ECONNREFUSED') return identity;",
    after: 'if (code !== "") return identity;',
    tests: ['test/serve/listen.test.ts'],
  },
  {
    name: 'a relay that stops removes the socket of its successor',
    file: 'src/server/unix-socket.ts',
    before: 'if (own !== undefined && identityOf(path) === own) unlinkSync(path);',
    after: 'if (own !== undefined && identityOf(path)) unlinkSync(path);',
    tests: ['test/serve/listen.test.ts'],
  },
  {
    name: 'a second SIGHUP during a reload is lost',
    file: 'src/server/reload.ts',
    before:
      '    while (isDue) {\n      isDue = false;\n      await renew(running, readAgain);\n    }',
    after: '    isDue = false;\n    await renew(running, readAgain);',
    tests: ['test/serve/reload.test.ts -t waits for Redis'],
  },
  {
    name: 'one unhandled rejection goes unnoticed',
    file: 'src/server/serve.ts',
    before: "for (const stray of ['unhandledRejection', 'uncaughtException'] as const) {",
    after: "for (const stray of ['uncaughtException'] as const) {",
    tests: ['test/serve/shutdown.test.ts'],
  },
  {
    name: 'refreshes in progress are lost when the relay stops',
    file: 'src/service.ts',
    before: 'await Promise.all([relay.delivered(), refreshes.settled(), revocations.settled()]);',
    after: 'await Promise.all([relay.delivered(), revocations.settled()]);',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'nginx logs poll secrets and codes',
    file: NGINX,
    before: '"$request_method $logged_uri"',
    after: '"$request"',
    tests: ['test/deploy/proxy-logs.test.ts'],
  },
  {
    name: 'nginx logs whole requests when a relay is unreachable',
    file: NGINX,
    before: 'error_log /dev/stderr emerg;',
    after: 'error_log /dev/stderr error;',
    tests: ['test/deploy/proxy-logs.test.ts'],
  },
  {
    name: 'a client forges its address through nginx',
    file: NGINX,
    before: 'X-Forwarded-For $remote_addr;',
    after: 'X-Forwarded-For $http_x_forwarded_for;',
    tests: ['test/deploy/proxy.test.ts'],
  },
  {
    name: 'nginx repeats a refresh whose response was lost',
    file: NGINX,
    before: `        proxy_next_upstream error timeout http_503;
        proxy_next_upstream_tries 2;`,
    after: `        proxy_next_upstream error timeout http_503 non_idempotent;
        proxy_next_upstream_tries 2;`,
    tests: ['test/deploy/proxy-repeats.test.ts'],
  },
  {
    name: 'nginx ends polls before the relay answers',
    file: NGINX,
    before: 'proxy_read_timeout 75s;',
    after: 'proxy_read_timeout 45s;',
    tests: ['test/deploy/files.test.ts'],
  },
  {
    name: 'a poll gets a 502 from nginx while two relays restart',
    file: NGINX,
    before: '            error_page 502 504 = @poll;\n',
    after: '',
    tests: ['test/deploy/proxy-restarts.test.ts'],
  },
  {
    name: 'no alert when exchanges fail at a small installation',
    file: 'deploy/alerts.yaml',
    before: 'outcome!="granted"}[15m])) >= 3',
    after: 'outcome!="granted"}[15m])) >= 30',
    tests: ['test/deploy/alerts.test.ts'],
  },
  {
    name: 'an alert for refresh tokens that have expired, which is routine',
    file: 'deploy/alerts.yaml',
    before: `outcome!~"granted|invalid_grant"}[15m])) >= 3
          and sum by (job, provider) (increase(sign_in_relay_upstream_requests_total{grant="refresh", outcome!~"granted|invalid_grant"}[15m]))`,
    after: `outcome!~"granted"}[15m])) >= 3
          and sum by (job, provider) (increase(sign_in_relay_upstream_requests_total{grant="refresh", outcome!~"granted"}[15m]))`,
    tests: ['test/deploy/alerts.test.ts -t expired'],
  },
  {
    name: 'expired sessions are removed once and never again',
    file: 'src/start-service.ts',
    before: `      run().catch(() => {});
      later();`,
    after: '      run().catch(() => {});',
    tests: ['test/http/log.test.ts'],
  },
  {
    name: 'a component that is unmounted goes on signing in',
    file: 'client/src/react.ts',
    before: 'return () => leaving.abort();',
    after: 'return () => {};',
    tests: ['test/client/react.test.ts'],
  },
  {
    name: 'React in StrictMode starts two sign-ins',
    file: 'client/src/react.ts',
    before: `  await undefined;
`,
    after: '',
    tests: ['test/client/react.test.ts'],
  },
  {
    name: 'a countdown goes up when the clock is set',
    file: 'client/src/countdown.ts',
    before: 'skewMs = Math.min(skewMs, atSkewMs);',
    after: 'skewMs = atSkewMs;',
    tests: ['test/client/asleep.test.ts'],
  },
  {
    name: 'a message about a wrong setting shows the query of a URL',
    file: 'src/settings/problems.ts',
    before: `.replace(/[?#].*/s, '?…')`,
    after: '',
    tests: ['test/settings/problems.test.ts'],
  },
  {
    name: 'a message about a wrong setting shows the part of a password after its first @',
    file: 'src/settings/problems.ts',
    before: 'return text.replace(/^.*@/s, ',
    after: 'return text.replace(/^[^@]*@/s, ',
    tests: ['test/settings/problems.test.ts'],
  },
];
