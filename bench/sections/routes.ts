/** What one request of each kind costs: what anybody may ask for, as often as they like. */
import type { Bench, Section } from '../bench.ts';
import type { AnyRequest } from '../load/requests.ts';
import { cpuOfEach } from '../support/accounting.ts';
import { type Arrangement, arrangeMemory, arrangeOneWithRedis } from '../support/arrangements.ts';

const SECTION = 'One request of each kind';
const AT_ONCE = 16;
/** Fewer than the limits over all let through at once, and how long those take to be full again. */
const PICTURES = 40;
const PICTURES_PAUSE_MS = 2_000;

const UNKNOWN = 'A'.repeat(24);
const FORM_BYTES = 16_000;
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

interface Route extends AnyRequest {
  readonly name: string;
  readonly status: number;
  readonly isPicture?: boolean;
}

export const measureRoutes: Section = async (bench) => {
  const url = bench.redis?.url;
  const arrangements = [await arrangeMemory(bench)];
  if (url !== undefined) arrangements.push(await arrangeOneWithRedis(bench, url));
  try {
    for (const arrangement of arrangements) await measureAll(bench, arrangement);
  } finally {
    await Promise.all(arrangements.map(({ stop }) => stop()));
  }
};

async function measureAll(bench: Bench, arrangement: Arrangement): Promise<void> {
  const routes = describeRoutes(await startSession(arrangement.relays.device));
  // The first round warms up and is thrown away.
  for (let round = 0; round <= bench.plan.rounds; round += 1) {
    for (const route of routes) await measure(bench, arrangement, route, round > 0);
  }
}

async function measure(
  { generator, plan, figures }: Bench,
  { column, pids, relays }: Arrangement,
  { name, status, isPicture, ...request }: Route,
  isKept: boolean,
): Promise<void> {
  const count = isPicture ? PICTURES : plan.requestsARound;
  const { each, result } = await cpuOfEach(pids, count, () =>
    generator.call('requests', { port: relays.device, request, count, atOnce: AT_ONCE }),
  );
  if (result[status] !== count) throw new Error(`${name}: ${JSON.stringify(result)}`);
  if (isKept) figures.add({ section: SECTION, name, column, unit: 'µs' }, each);
  if (isPicture) await Bun.sleep(PICTURES_PAUSE_MS);
}

interface Started {
  readonly state: string;
  readonly codePath: string;
}

async function startSession(port: number): Promise<Started> {
  const body = JSON.stringify({ service: 'mal', code: true, device: 'Living room' });
  const answer = await fetch(`http://127.0.0.1:${port}/auth/start`, { method: 'POST', body });
  const { url, link } = (await answer.json()) as { url: string; link: string };
  return {
    state: new URL(url).searchParams.get('state') ?? '',
    codePath: new URL(link).pathname,
  };
}

function describeRoutes({ state, codePath }: Started): Route[] {
  const get = (name: string, path: string, status = 200): Route => ({ name, path, status });
  const post = (name: string, path: string, body: string, status: number): Route => ({
    ...{ name, path, body, status, method: 'POST' },
  });
  const picture = (name: string, path: string): Route => ({ ...get(name, path), isPicture: true });
  const json = '{"a":'.padEnd(FORM_BYTES / 2, '[').padEnd(FORM_BYTES, ']');
  return [
    get('GET /health', '/health'),
    get('GET /auth/done: a page', '/auth/done'),
    get('a link that is not valid', `/auth/mal?state=${UNKNOWN}`, 404),
    get('a link that is', `/auth/mal?state=${state}`, 302),
    get('a callback that is not valid', `/auth/mal/callback?state=${UNKNOWN}&code=c`, 404),
    get('a poll that is not valid', `/auth/result?session=${UNKNOWN}`, 410),
    get('the same with 7,000 parameters', `/auth/result?${'a&'.repeat(7_000)}`, 410),
    post('a start', '/auth/start', '{"service":"mal"}', 200),
    post('a start with a code', '/auth/start', '{"service":"mal","code":true}', 200),
    get('the code form', '/link'),
    post('the code form again: no code was typed', '/link', 'code=x', 400),
    get('the question of a code', codePath),
    get('a code that is none', '/L/x', 404),
    picture('a picture, SVG', `/qr/${state}.svg`),
    picture('a picture, PNG of 400 px', `/qr/${state}.png`),
    picture('a picture, PNG of 1000 px', `/qr/${state}.png?size=1000`),
    get('/openapi.json', '/openapi.json'),
    post('device authorization', '/oauth2/mal/device_authorization', 'client_id=x', 200),
    post(
      'a device code that is not valid',
      '/oauth2/mal/token',
      `grant_type=${DEVICE_CODE}&device_code=${UNKNOWN}`,
      400,
    ),
    post('the token endpoint: a form of 16 KB', '/oauth2/mal/token', 'a&'.repeat(8_000), 400),
    {
      ...post('the token endpoint: JSON of 16 KB', '/oauth2/mal/token', `${json}}`, 400),
      type: 'application/json',
    },
  ];
}
