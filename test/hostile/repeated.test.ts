/**
 * Every place of a request, of a token response and of the settings, filled to its limit with one
 * repeated character or pair. In `npm run soak` the cost must not grow faster than the length:
 * twice the length may take twice as long, but not four times.
 *
 * This is the one test that compares times. test/patterns.test.ts shows that each pattern is
 * linear, but not how often it is called, nor what a library or the runtime does with a text: to
 * normalize Unicode, for example, takes quadratic time. So it compares only in the soak, medians
 * of the same seconds, and it fails where each doubling takes three times as long.
 */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { createAdmin } from '../../src/admin/admin.ts';
import { TOKEN_RESPONSE_BYTES } from '../../src/limits.ts';
import { describeFaults } from '../../src/settings/index.ts';
import { PROVIDER_SETTINGS, RELAY_SETTINGS } from '../../src/settings/names.ts';
import { poll, start } from '../kit/device.ts';
import { IS_SOAK, testSeed } from '../kit/random.ts';
import { captureLog, createTestService, type Fetch, SETTINGS } from '../kit/service.ts';
import { callback } from '../kit/user.ts';
import { read } from '../settings/read.ts';
import { createInput, fillWith, REPEATED_CHARACTERS, type Repeated } from './input.ts';
import { ADMIN_TOKEN, asHeader, fillSession, GOOD, HEADERS, type Session } from './requests.ts';

setDefaultTimeout(7_200_000);
afterAll(() => captureLog());

/** Both runtimes refuse a request with a longer head. */
const HEAD_BYTES = 16_000;
/** The most that is read of a body. */
const BODY_BYTES = 16_384;
/** Linux gives 128 KiB to a process, but then the thousands of lines of the report take the time. */
const SETTING_BYTES = 16_000;

/** A text that takes less harms nobody, and a collection of garbage may take as much. */
const COMPARED_FROM_MS = 10;
/** Linear is 2, quadratic 4. */
const MAX_GROWTH = 3;
/** What took long the first time, and then grew too fast, is sent more often. */
const REPETITIONS = [1, 5, 25];

const { pick, repeatedPair } = createInput(testSeed);

/** For each place: in the soak every character and many pairs, otherwise one of each. */
const drawRepeated = (): readonly Repeated[] =>
  IS_SOAK
    ? [...REPEATED_CHARACTERS, ...Array.from({ length: 200 }, repeatedPair)]
    : [pick(REPEATED_CHARACTERS), repeatedPair()];

interface Place {
  readonly name: string;
  readonly limitBytes: number;
  /** Resolves with the milliseconds that this text took. */
  fill(text: string): Promise<number>;
}

/** The median of so many repetitions, for each of the texts. */
async function measure(place: Place, texts: readonly string[], repetitions: number) {
  const all = texts.map((): number[] => []);
  for (let left = repetitions; left > 0; left -= 1) {
    for (const [index, text] of texts.entries()) all[index]?.push(await place.fill(text));
  }
  return all.map((times) => times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0);
}

/** How many times as long a text of twice the length takes. */
async function growthOf(place: Place, repeated: Repeated): Promise<number> {
  const texts = [4, 2, 1].map((part) => fillWith(repeated, place.limitBytes / part));
  let growth = 0;
  for (const repetitions of REPETITIONS) {
    const [quarter = 0, half = 0, whole = 0] = await measure(place, texts, repetitions);
    if (whole < COMPARED_FROM_MS) return 0;
    // A collection of garbage begins at one length. A pattern is as slow at both.
    growth = Math.min(half / quarter, whole / half);
    if (repetitions > 1 && growth < MAX_GROWTH) break;
  }
  return growth;
}

/** Fills every place, and in the soak returns those of which the cost grew too fast. */
async function findTooFast(places: readonly Place[]): Promise<string[]> {
  const tooFast: string[] = [];
  let inputs = 0;
  let mostGrowth = 0;
  for (const place of places) {
    for (const repeated of drawRepeated()) {
      inputs += 1;
      if (!IS_SOAK) {
        await place.fill(fillWith(repeated, place.limitBytes));
        continue;
      }
      const growth = await growthOf(place, repeated);
      mostGrowth = Math.max(mostGrowth, growth);
      if (growth < MAX_GROWTH) continue;
      tooFast.push(`${place.name} with ${JSON.stringify(repeated)}: ${growth.toFixed(1)} times`);
      // One text is enough to find the cause, and each takes long.
      break;
    }
  }
  console.log(`${places.length} places, ${inputs} inputs, growth at most ${mostGrowth.toFixed(1)}`);
  return tooFast;
}

/** Good requests of which one part is `{text}`. */
interface Template {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The text with `{text}` in place of each value of a query, a form or a JSON object. */
const withEachValue = (text: string) =>
  [...text.matchAll(/(?<==)[^&]*|(?<=":)(?:true|"[^"]*")/g)].map(({ 0: value, index }) => {
    const filled = text.startsWith('{') ? '"{text}"' : '{text}';
    return text.slice(0, index) + filled + text.slice(index + value.length);
  });

const TEMPLATES = GOOD.flatMap(([method, target, body = '']): Template[] => {
  const good = { method, target, headers: {}, body };
  return [
    { ...good, target: target.replace(/(?=\?|$)/, '{text}') },
    ...withEachValue(target).map((filled) => ({ ...good, target: filled })),
    ...HEADERS.map(([name]) => ({ ...good, headers: { [name]: '{text}' } })),
    { ...good, body: '{text}' },
    ...withEachValue(body).map((filled) => ({ ...good, body: filled })),
  ];
});

/** The body is as long as what is read of one. */
const limitOf = ({ body }: Template) => (body.includes('{text}') ? BODY_BYTES : HEAD_BYTES);

function requestOf({ method, target, headers, body }: Template, session: Session, text: string) {
  const fill = (part: string, filling: string) =>
    fillSession(part, session).replace('{text}', () => filling);
  const inBody = body.startsWith('{"') ? JSON.stringify(text).slice(1, -1) : text;
  return new Request(`https://relay.test${fill(target, text)}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, asHeader(fill(value, text))]),
    ...(method === 'POST' && { body: fill(body, inBody) }),
  });
}

/** In this process, without the kit's check of the responses, which takes time too. */
function createTarget(settings: Partial<typeof SETTINGS>, fetch?: Fetch) {
  const service = createTestService(
    { startBurst: 1_000_000, ...settings },
    { ...(fetch && { fetch }) },
  );
  const handle = async (request: Request) =>
    service.handle(request, { requestIP: () => ({ address: '10.0.0.1' }) });
  const ask = (path: string, init?: RequestInit) =>
    handle(new Request(`https://relay.test${path}`, init));
  /** Lets a minute pass, so that a parked poll ends too. Resolves with the milliseconds until the response. */
  async function timeOf(request: Request): Promise<number> {
    const startedAtMs = performance.now();
    const response = handle(request);
    await new Promise(setImmediate);
    service.clock.advance(60_000);
    const { status } = await response;
    if (status === 500) throw new Error(`${request.method} ${request.url.slice(0, 200)}: 500`);
    return performance.now() - startedAtMs;
  }
  return { ask, timeOf };
}

test.each<[name: string, settings: Partial<typeof SETTINGS>]>([
  ['as it is by default', {}],
  [
    'behind a proxy, always confirming, for web apps',
    { trustedProxyCidrs: ['10.0.0.0/8'], confirm: 'always', corsOrigins: ['https://tv.test'] },
  ],
])('requests to the relay, %s', async (_, settings) => {
  captureLog('error');
  const target = createTarget(settings);
  const places = TEMPLATES.map(
    (template): Place => ({
      name: JSON.stringify(template),
      limitBytes: limitOf(template),
      async fill(text) {
        const { session: secret, state, userCode } = await start(target, 'anilist', { code: true });
        const session = { service: 'anilist', secret, state, userCode };
        return target.timeOf(requestOf(template, session, text));
      },
    }),
  );
  expect(await findTooFast(places)).toEqual([]);
});

test('requests to the admin port', async () => {
  const { clock } = createTestService();
  const admin = createAdmin({
    clock,
    services: SETTINGS.providers,
    maxSessions: 5_000,
    runtime: 'Bun',
    names: ['admin.example'],
    token: ADMIN_TOKEN,
  });
  const ask = async (path: string, header: string, value: string) => {
    const headers = { host: '127.0.0.1', authorization: `Bearer ${ADMIN_TOKEN}`, [header]: value };
    const request = new Request(`http://127.0.0.1/${path}`, { headers });
    const startedAtMs = performance.now();
    await admin.handle(request, { requestIP: () => ({ address: '10.0.0.1' }) });
    return performance.now() - startedAtMs;
  };
  const places = [
    { name: 'path', limitBytes: HEAD_BYTES, fill: (text: string) => ask(text, 'accept', '*/*') },
    ...['authorization', 'host', 'cookie'].map((name) => ({
      name,
      limitBytes: HEAD_BYTES,
      fill: (text: string) => ask('metrics', name, asHeader(`Basic ${text}`)),
    })),
  ];
  expect(await findTooFast(places)).toEqual([]);
});

test('responses of a token endpoint', async () => {
  captureLog('error');
  let body = '';
  const target = createTarget({}, async () => new Response(body));
  const answer = async (text: string) => {
    body = text;
    const { session, state } = await start(target, 'mal', { details: true });
    const startedAtMs = performance.now();
    await callback(target, state);
    await (await poll(target, session)).text();
    return performance.now() - startedAtMs;
  };
  const granted = { access_token: 'a', token_type: 'Bearer', expires_in: '9', scope: 'a' };
  const names = [...Object.keys(granted), 'refresh_token', 'id_token', 'error'];
  const places = [
    { name: 'body', limitBytes: TOKEN_RESPONSE_BYTES - 200, fill: answer },
    ...names.map((name) => ({
      name,
      limitBytes: TOKEN_RESPONSE_BYTES - 200,
      fill: (text: string) => answer(JSON.stringify({ ...granted, [name]: text })),
    })),
  ];
  expect(await findTooFast(places)).toEqual([]);
});

test('settings', async () => {
  const env = { OAUTH_BASE_URL: 'https://relay.test', ACME_CLIENT_ID: 'id', PROVIDERS: 'acme' };
  const examples = [
    ...Object.entries(RELAY_SETTINGS).map(([name, { example }]) => [name, example]),
    ...Object.entries(PROVIDER_SETTINGS).map(([name, { example }]) => [`ACME_${name}`, example]),
  ] as const;
  const places = examples.flatMap(([name = '', example = '']) =>
    ['', example].map((beginning) => ({
      name: `${name}=${beginning}`,
      limitBytes: SETTING_BYTES,
      async fill(text: string) {
        const startedAtMs = performance.now();
        const reading = read({ ...env, [name]: beginning + text });
        describeFaults(reading.ok ? [] : reading.faults, reading.warnings);
        return performance.now() - startedAtMs;
      },
    })),
  );
  expect(await findTooFast(places)).toEqual([]);
});
