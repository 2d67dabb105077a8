/** The app of a web TV, in a Chromium without what the engines of old televisions do not have. */
import type { Browser, BrowserContext } from 'playwright-core';
import { EXECUTABLE, launchChromium } from '../../kit/chromium.ts';
import { REMOVE_NEWER } from '../../kit/old-engine.ts';
import { ROOT } from '../../kit/relay.ts';
import { pollUntil } from '../../kit/wait.ts';
import type { App, Platform, Run, Tokens } from './app.ts';

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/sign-in.js') {
      return new Response(Bun.file(`${ROOT}examples/devices/web-tv/sign-in.js`));
    }
    const html = page(searchParams.get('relay') ?? '', searchParams.get('service') ?? '');
    return new Response(html, { headers: { 'Content-Type': 'text/html' } });
  },
});
server.unref();

/** The relay has to know it (CORS_ORIGINS). A packaged app has `null` or `file://` in its place. */
export const APP_ORIGIN = server.url.origin;

const page = (relayUrl: string, service: string) => `<!doctype html>
<meta charset="utf-8">
<body>
<script src="/sign-in.js"></script>
<script>
  var current;
  function say(event) { console.log(JSON.stringify(event)); }
  var options = {
    relay: ${JSON.stringify(relayUrl)},
    service: ${JSON.stringify(service)},
    device: 'Living room',
    onPrompt: function (prompt) { say({ link: prompt.link }); },
    onCountdown: function () {},
    onTokens: function (tokens) { say({ tokens: tokens }); },
    onError: function (code, detail) {
      if (code === 'invalid_grant') current = RelaySignIn.begin(options);
      else say({ error: detail ? code + ': ' + detail : code });
    }
  };
  document.addEventListener('keydown', function (event) {
    if (event.keyCode === 8) current.cancel();
    // The television sets its clock.
    var now = Date.now;
    if (event.key === 't') Date.now = function () { return now() + 86400000; };
    if (event.key === 'b') setClockBack();
    if (event.key === 'f') Storage.prototype.setItem = function () { throw new Error('QuotaExceededError'); };
  });
  function setClockBack() {
    Object.keys(localStorage).forEach(function (key) {
      var saved = JSON.parse(localStorage[key]);
      saved.expiresAt += 86400000;
      localStorage[key] = JSON.stringify(saved);
    });
  }
  RelaySignIn.tokens(options);
</script>`;

interface Event {
  readonly link?: string;
  readonly tokens?: Tokens;
  readonly error?: string;
}

let browser: Promise<Browser> | undefined;

export const WEB_TV: Platform = {
  name: 'web TV',
  needs: { [EXECUTABLE]: 'chromium-headless-shell' },
  async prepare() {
    browser = launchChromium();
    await browser;
  },
  async install() {
    if (browser === undefined) throw new Error('not prepared');
    return createApp(await (await browser).newContext());
  },
};

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close();
}

async function createApp(context: BrowserContext): Promise<App> {
  await context.addInitScript(REMOVE_NEWER);
  let saved: Tokens | undefined;
  return {
    run(relayUrl, service = 'mal') {
      const run = open(context, relayUrl, service);
      void run.ended.then(({ tokens }) => {
        saved = tokens ?? saved;
      });
      return run;
    },
    tokens: async () => saved,
    mode: () => undefined,
    setClockBack: async () => context.pages()[0]?.keyboard.press('b'),
    fillStorage: () => Promise.all(context.pages().map((tab) => tab.keyboard.press('f'))),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

function open(context: BrowserContext, relayUrl: string, service: string) {
  const events: Event[] = [];
  const ended = Promise.withResolvers<{ exitCode: number; error: string; tokens?: Tokens }>();
  const links = () => events.flatMap(({ link }) => (link ? [new URL(link).pathname] : []));
  const shown = context.newPage().then(async (tab) => {
    tab.on('console', (message) => {
      if (!message.text().startsWith('{')) return;
      const event = JSON.parse(message.text()) as Event;
      events.push(event);
      if (event.tokens) ended.resolve({ exitCode: 0, error: '', tokens: event.tokens });
      if (event.error) ended.resolve({ exitCode: 1, error: event.error });
    });
    tab.on('pageerror', (error) => ended.reject(error));
    await tab.goto(`${APP_ORIGIN}/?${new URLSearchParams({ relay: relayUrl, service })}`);
    return tab;
  });
  shown.catch(ended.reject);
  return {
    links: () => links().length,
    link: (nth = 1) => pollUntil(`link ${nth} is shown`, () => links()[nth - 1]),
    setClock() {
      void shown.then((tab) => tab.keyboard.press('t'));
    },
    cancel() {
      // Back. The app calls nothing after it.
      void shown
        .then((tab) => tab.keyboard.press('Backspace'))
        .then(() => ended.resolve({ exitCode: 130, error: 'cancelled' }));
    },
    ended: ended.promise,
  } satisfies Run;
}
