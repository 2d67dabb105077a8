/** Pieces of an app, which run with the built client under Bun, under Node, and in Chromium with the module and with the TV build. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type * as client from '../../client/src/index.ts';
import { launchChromium } from './chromium.ts';
import { endWithFile } from './cleanup.ts';
import { newFolder } from './folder.ts';
import { PATH_WITHOUT_BUN, runChild } from './process.ts';
import { ROOT } from './relay.ts';

/** What an app imports. The TV build has no `SignInError`, and no `fetch` of the session. */
export type Client = Pick<typeof client, 'createSession' | 'discover'>;

/** Its source runs elsewhere: it uses nothing but its parameters. What is given and returned is JSON. */
export type App<Given, Result> = (client: Client, given: Given, tools: Tools) => Promise<Result>;

export type Tools = ReturnType<typeof createTools>;

function createTools() {
  return {
    /** Storage that takes its time, as AsyncStorage and SecureStore do. */
    slow(items: Record<string, string>) {
      const later = <Value>(run: () => Value) =>
        new Promise<Value>((resolve) => setTimeout(() => resolve(run()), 20));
      return {
        getItem: (key: string) => later(() => items[key]),
        setItem: (key: string, text: string) =>
          later(() => {
            items[key] = text;
          }),
        removeItem: (key: string) => later(() => delete items[key]),
      };
    },
    /** The states that a session has shown so far. */
    watch(session: client.Session): client.SessionState[] {
      const states = [session.state];
      session.subscribe(() => states.push(session.state));
      return states;
    },
    /** Waits until the session shows it. */
    until: (session: client.Session, status: client.SessionState['status']) =>
      new Promise<client.SessionState>((resolve) => {
        const look = () => {
          if (session.state.status === status) resolve(session.state);
        };
        session.subscribe(look);
        look();
      }),
    /** Why it failed: what a `SignInError` says, without its members that are no JSON. */
    failureOf: (promise: Promise<unknown>): Promise<{ code: string; detail: string } | null> =>
      promise.then(
        () => null,
        ({ code, detail, message }) => ({ code, detail: detail ?? message }),
      ),
  };
}

export const RUNTIMES = ['Bun', 'Node', 'Chromium', 'the TV build'] as const;
export type Runtime = (typeof RUNTIMES)[number];

const PAGES: Readonly<Record<string, string>> = {
  '/module':
    '<script type="module">import * as client from "/index.js"; self.client = client;</script>',
  '/tv': '<script src="/tv.js"></script><script>self.client = SignInRelay;</script>',
};

export type Runtimes = Awaited<ReturnType<typeof startRuntimes>>;

export async function startRuntimes() {
  const folder = newFolder();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url }) {
      const { pathname } = new URL(url);
      if (pathname.endsWith('.js')) return new Response(Bun.file(join(folder, pathname)));
      const page = `<!doctype html><link rel="icon" href="data:,">${PAGES[pathname] ?? ''}`;
      return new Response(page, { headers: { 'Content-Type': 'text/html' } });
    },
  });
  endWithFile(() => server.stop(true));
  const [built, browser] = await Promise.all([
    runChild([process.execPath, `${ROOT}client/build.ts`, folder]),
    launchChromium(),
  ]);
  if (built.exitCode !== 0) throw new Error(built.output);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  let apps = 0;

  async function runInProcess(command: string, path: string, source: string): Promise<string> {
    apps += 1;
    const file = join(folder, `app-${apps}.js`);
    writeFileSync(
      file,
      `import * as client from './index.js';
const result = await ${source};
process.stdout.write(JSON.stringify(result) ?? 'null', () => process.exit(0));`,
    );
    const { exitCode, output } = await runChild([command, file], { env: { PATH: path } });
    if (exitCode !== 0) throw new Error(output);
    return output;
  }

  async function open(page: Page, runtime: Runtime): Promise<void> {
    await page.goto(`${server.url.href}${runtime === 'the TV build' ? 'tv' : 'module'}`);
    await page.waitForFunction('self.client');
  }

  async function runInPage(runtime: Runtime, source: string): Promise<string> {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await open(page, runtime);
      return (await page.evaluate(`${source}.then(JSON.stringify)`)) ?? 'null';
    } finally {
      await context.close();
    }
  }

  return {
    browser,
    /** The pages' origin, which an API allows. */
    origin: server.url.origin,
    async run<Given, Result>(
      runtime: Runtime,
      app: App<Given, Result>,
      given: Given,
    ): Promise<Result> {
      const source = `(${app})(client, ${JSON.stringify(given)}, (${createTools})())`;
      const path = process.env.PATH ?? '';
      return JSON.parse(
        runtime === 'Bun'
          ? await runInProcess(process.execPath, path, source)
          : runtime === 'Node'
            ? await runInProcess('node', PATH_WITHOUT_BUN, source)
            : await runInPage(runtime, source),
      );
    },
    /** Opens a page that has the client. */
    open,
  };
}

/** A relay, and an API, for pages of any origin. What it does not know it answers as a relay does. */
export function startServer() {
  const asked: string[] = [];
  let answers: Readonly<Record<string, (request: Request) => object | Promise<object>>> = {};
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Own',
  };
  const serving = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers });
      asked.push(pathname + search);
      const answer = answers[pathname];
      if (!answer) return new Response('404 page not found\n', { status: 404, headers });
      const answered = await answer(request);
      if (!(answered instanceof Response)) return Response.json(answered, { headers });
      for (const [name, value] of Object.entries(headers)) answered.headers.set(name, value);
      return answered;
    },
  });
  endWithFile(() => serving.stop(true));
  return {
    url: serving.url.origin,
    asked,
    /** From now on, until the next call. */
    answer(next: typeof answers) {
      asked.length = 0;
      answers = next;
    },
  };
}
