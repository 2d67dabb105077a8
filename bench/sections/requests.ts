/** What one request of each kind costs, of those that anyone can send without limit. */
import { record } from '../figures.ts';
import { type Request, requests } from '../load.ts';
import {
  type Bench,
  inTurns,
  measureCpu,
  relayColumns,
  startWarm,
  sum,
  type Target,
} from '../processes.ts';

const UNKNOWN = 'A'.repeat(24);
const TOKEN = '/oauth2/mal/token';
const DEVICE_CODE = 'grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code';
const NESTED_JSON = `${'{"a":'.padEnd(8_000, '[').padEnd(16_000, ']')}}`;
const JSON_TYPE = 'application/json';

/** With a body it is a POST. */
type Kind = readonly [name: string, status: number, path: string, body?: string, type?: string];

const describeKinds = (state: string, codePath: string): Kind[] => [
  ['GET /health', 200, '/health'],
  ['GET /auth/done: a page', 200, '/auth/done'],
  ['a link that is not valid', 404, `/auth/mal?state=${UNKNOWN}`],
  ['a link that is valid', 302, `/auth/mal?state=${state}`],
  ['a callback that is not valid', 404, `/auth/mal/callback?state=${UNKNOWN}&code=c`],
  ['a poll that is not valid', 410, `/auth/result?session=${UNKNOWN}`],
  ['the same with 7,000 parameters', 410, `/auth/result?${'a&'.repeat(7_000)}`],
  ['a start', 200, '/auth/start', '{"service":"mal"}'],
  ['a start with a user code', 200, '/auth/start', '{"service":"mal","code":true}'],
  ['the code form', 200, '/link'],
  ['the code form without a code', 400, '/link', 'code=x'],
  ['the confirmation page', 200, codePath],
  ['an unknown user code', 404, '/L/x'],
  ['a QR code, SVG', 200, `/qr/${state}.svg`],
  ['a QR code, PNG of 400 px', 200, `/qr/${state}.png`],
  ['a QR code, PNG of 1,000 px', 200, `/qr/${state}.png?size=1000`],
  ['GET /openapi.json', 200, '/openapi.json'],
  ['a device authorization', 200, '/oauth2/mal/device_authorization', 'client_id=x'],
  ['a device code that is not valid', 400, TOKEN, `${DEVICE_CODE}=${UNKNOWN}`],
  ['the token endpoint, a form of 16 KB', 400, TOKEN, 'a&'.repeat(8_000)],
  ['the token endpoint, JSON of 16 KB', 400, TOKEN, NESTED_JSON, JSON_TYPE],
];

export async function measureRequests(bench: Bench): Promise<void> {
  for (const column of relayColumns(bench).slice(0, 2)) {
    const target = await startWarm(bench, column);
    const origin = `http://127.0.0.1:${target.ports.device}`;
    const body = JSON.stringify({ service: 'mal', code: true, device: 'Living room' });
    const response = await fetch(`${origin}/auth/start`, { method: 'POST', body });
    const { url, link } = (await response.json()) as { url: string; link: string };
    const kinds = describeKinds(url.slice(url.indexOf('=') + 1), new URL(link).pathname);
    const works = kinds.map((kind) => () => cpuOfRequest(bench, target, kind));
    // The first round is not recorded: its code is not compiled yet.
    await inTurns(1, works);
    await inTurns(bench.plan.rounds, works, (...cpus) => {
      kinds.forEach(([name], index) => {
        record('One request of each kind', column, `${name}, µs`, cpus[index] ?? 0);
      });
    });
    await target.stop();
  }
}

/** Fewer QR codes than QR_LIMIT_OVERALL allows at once, and how long until it allows them again. */
const PICTURES = 40;
const PICTURES_PAUSE_MS = 2_000;

async function cpuOfRequest({ plan }: Bench, { ports, pids }: Target, kind: Kind) {
  const [name, status, path, body, type] = kind;
  const isPicture = path.startsWith('/qr/');
  const count = isPicture ? PICTURES : plan.requestsPerRound;
  const request: Request = {
    path,
    ...(body !== undefined && { method: 'POST', body }),
    ...(type !== undefined && { type }),
  };
  const ask = () => requests(ports.device, request, { count, atOnce: 16 });
  const { cpu, result } = await measureCpu(pids, count, ask);
  if (result[status] !== count) throw new Error(`${name}: ${JSON.stringify(result)}`);
  if (isPicture) await Bun.sleep(PICTURES_PAUSE_MS);
  return sum(cpu);
}
