/** Whatever a token endpoint answers, the user gets a page, and the device its own tokens or an error. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { poll, start, type Target } from '../kit/device.ts';
import { serveBytes } from '../kit/provider.ts';
import { testSeed } from '../kit/random.ts';
import { buildForNode, RUNTIMES, startRelay } from '../kit/relay.ts';
import { captureLog, createTestService } from '../kit/service.ts';
import { callback } from '../kit/user.ts';
import { countOf, createInput, type Input, MARK } from './input.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

/** A change of its text makes no other sign-in's token. */
const tokenOf = (index: number) => `token-${index}-${Bun.hash(String(index))}`;

function granted(index: number): string {
  const tokens = { access_token: tokenOf(index), refresh_token: 'next', expires_in: 3_600 };
  return JSON.stringify({ ...tokens, scope: 'a b', token_type: 'Bearer', id_token: 'e30.e30.e30' });
}

/** Of a token endpoint: good ones, errors, and other JSON. */
function bodyOf({ pick, chance, mutate, hostile }: Input, index: number): string {
  const good = pick([
    granted(index),
    granted(index),
    granted(index),
    granted(index),
    '{"error":"invalid_grant","error_description":"no"}',
    '{"access_token":["a"],"expires_in":"x"}',
    '{"access_token":"a","expires_in":1e400,"scope":[1,{}],"__proto__":{"x":1}}',
    `{"access_token":"${'t'.repeat(70_000)}"}`,
    '[]',
    'null',
    '',
  ]);
  if (chance(0.5)) return good;
  return chance(0.7) ? mutate(good) : hostile();
}

/** What a device may get from a poll: only strings and numbers, none of them empty, and of no other sign-in. */
function checkResult(text: string, index: number): void {
  const json = JSON.parse(text) as Record<string, unknown>;
  for (const [name, value] of Object.entries(json)) {
    const isText = ['accessToken', 'refreshToken', 'tokenType', 'scope', 'idToken', 'error'];
    if (isText.includes(name) && typeof value === 'string' && value !== '') continue;
    if (name === 'expiresIn' && Number.isSafeInteger(value)) continue;
    throw new Error(`the device got ${name} = ${JSON.stringify(value)}`);
  }
  const { accessToken, error } = json;
  if ((accessToken === undefined) === (error === undefined)) throw new Error(`neither: ${text}`);
  const owner = Number(/^token-(\d+)-/.exec(String(accessToken))?.[1]);
  if (accessToken === tokenOf(owner) && owner !== index)
    throw new Error(`of another user: ${text}`);
}

/** The provider answers the code whatever it answers. Returns the status of the page. */
async function signIn(target: Target, index: number): Promise<number> {
  const { session, state } = await start(target, 'mal', { details: true });
  const page = await callback(target, state, `code=${index}`);
  expect([200, 502]).toContain(page.status);
  expect(await page.text()).not.toContain(MARK);
  const result = await poll(target, session);
  expect(result.status).toBe(200);
  checkResult(await result.text(), index);
  return page.status;
}

test('any response: a page for the user, and tokens or an error for the device', async () => {
  const input = createInput(testSeed);
  const { chance, pick, below, mutate } = input;
  const HEADERS = [
    ['content-type', 'application/json'],
    ['content-type', 'text/html; charset=utf-16'],
    ['content-length', '5'],
    ['content-encoding', 'gzip'],
    ['location', `https://${MARK}.test`],
    ['set-cookie', MARK],
    ['retry-after', '99999999999'],
  ] as const;
  let index = 0;
  const service = createTestService(
    { startBurst: 1_000_000 },
    {
      fetch: async () => {
        if (chance(0.02)) throw Object.assign(new Error(MARK), { code: pick(['ECONNRESET', 7]) });
        const status = chance(0.7) ? 200 : 200 + below(400);
        const body = [204, 205, 304].includes(status) ? null : bodyOf(input, index);
        const headers = HEADERS.filter(() => chance(0.2)).map(([name, value]): [string, string] => [
          name,
          chance(0.8) ? value : mutate(value).replace(/[^ -~]/g, ''),
        ]);
        return new Response(body, { status, headers });
      },
    },
  );
  const log = captureLog('warning');
  const ends = new Map<number, number>();
  for (; index < countOf(3_000); index += 1) {
    const status = await signIn(service, index);
    ends.set(status, (ends.get(status) ?? 0) + 1);
  }
  console.log(`${index} answers: ${JSON.stringify(Object.fromEntries(ends))}`);
  expect([...ends.keys()].sort()).toEqual([200, 502]);
  expect(log.events.filter(({ level }) => level === 'error')).toEqual([]);
  service.clock.advance(7_200_000);
  expect(service.kept()).toMatchObject({ sessions: 0, startBuckets: 0 });
});

await buildForNode();

test.each(RUNTIMES)(
  'on %s: a provider that switches protocols has given no tokens',
  async (_, command) => {
    const provider = await serveBytes((socket) => {
      const head = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
      socket.end(head);
    });
    const relay = await startRelay({ MAL_TOKEN_URL: provider.url }, { command });
    try {
      const { session, state } = await start(relay);
      // Sooner than the relay gives up with a provider that is silent (15 s).
      const signal = AbortSignal.timeout(14_000);
      const page = await relay.ask(`/auth/mal/callback?state=${state}&code=c`, { signal });
      expect(page.status).toBe(502);
      expect(await (await poll(relay, session)).json()).toEqual({ error: 'exchange_failed' });
    } finally {
      provider.stop();
      // An exchange that never ends would hold a SIGTERM.
      await relay.stop('SIGKILL');
    }
  },
);
