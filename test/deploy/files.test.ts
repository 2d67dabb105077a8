/** The files of deploy/ and package.json agree with each other and with the relay. */
import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import lockFile from '../../package-lock.json' with { type: 'json' };
import { IDLE_MARGIN_SECONDS, MAX_PARKED_POLLS, REDIS_WAIT_MS } from '../../src/limits.ts';
import { namesOf, RELAY_SETTINGS } from '../../src/settings/names.ts';
import { newFolder } from '../kit/folder.ts';
import { has } from '../kit/needs.ts';
import { runChild } from '../kit/process.ts';
import { readAcl } from '../kit/redis/acl.ts';
import { ROOT } from '../kit/relay.ts';

const POLL_SECONDS = Number(RELAY_SETTINGS.POLL_SECONDS.default);
const read = (file: string) => readFileSync(`${ROOT}deploy/${file}`, 'utf8');

interface Container {
  readonly environment?: Record<string, string>;
  readonly env_file?: string;
  readonly volumes?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
  readonly ulimits?: Readonly<Record<string, number>>;
  readonly networks: Readonly<Record<string, { readonly aliases?: readonly string[] }>>;
}

interface Compose {
  readonly services: Record<string, Container>;
  readonly networks: Record<string, { readonly ipam?: unknown }>;
}

const compose = Bun.YAML.parse(read('compose.yaml')) as Compose;
const home = Bun.YAML.parse(read('compose.home.yaml')) as Compose;

test('nginx looks for the relays by a name that they have in compose.yaml', () => {
  const [, name] = /default (\S+):8080;/.exec(read('nginx.conf')) ?? [];
  for (const relay of ['relay-1', 'relay-2']) {
    expect(compose.services[relay]?.networks.relays?.aliases).toEqual([`${name}`]);
  }
});

test.each([
  ['compose.yaml', compose.services['relay-1']],
  ['compose.home.yaml', home.services.relay],
])('in %s the relay gets each provider of .env, secrets as files, known settings', (_, relay) => {
  expect(relay?.env_file).toBe('.env');
  expect(relay?.volumes).toContain('./secrets/relay:/run/secrets/relay:ro');
  const names = Object.keys(relay?.environment ?? {});
  const known = namesOf(RELAY_SETTINGS);
  expect(names.filter((name) => !known.includes(name) || /CLIENT/.test(name))).toEqual([]);
});

test('a command of docker compose in the docs finds its file and its service', () => {
  const pages = ['deploy/README.md', 'docs/operating.md', 'docs/changing-a-secret.md'];
  const text = pages.map((page) => readFileSync(ROOT + page, 'utf8')).join();
  const services = Object.keys({ ...compose.services, ...home.services });
  const named = [...text.matchAll(/docker compose (?:restart|logs|exec(?: -T)?) ([\w-]+)/g)];
  expect(named.map(([, name]) => name).filter((name = '') => !services.includes(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(3);
  // Not by `-f`, which every later command would need.
  expect(text).toContain("printf 'COMPOSE_FILE=compose.home.yaml\\n");
  expect(text).not.toMatch(/docker compose -f/);
});

test('everything that sets up a new relay lets every user confirm', () => {
  const deploy = readdirSync(`${ROOT}deploy`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
    .map(({ parentPath, name }) => join(parentPath, name));
  const pages = ['README.md', 'docs/install.md', 'docs/configuration.md', 'docs/operating.md'];
  /** Where the base URL is set, with the two lines that follow. */
  const places = [...deploy, ...pages.map((page) => ROOT + page)].flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return text.match(/^[^#\n]*OAUTH_BASE_URL(?:=|"?: (?!\{)|, value).*(?:\n.*){2}/gm) ?? [];
  });
  const examples = deploy.filter((file) => file.endsWith('.env'));
  places.push(...examples.map((file) => readFileSync(file, 'utf8')));
  expect(places.length).toBeGreaterThan(pages.length);
  expect(places.filter((place) => !/CONFIRM\b.{1,15}\balways\b/.test(place))).toEqual([]);
});

test('git ignores the secrets that an operator writes', async () => {
  const files = ['secrets/relay/redis-url', 'secrets/kubernetes.env', '.env'];
  const paths = files.map((file) => `deploy/${file}`);
  const { output } = await runChild(['git', 'check-ignore', ...paths], { cwd: ROOT });
  expect(output.trim().split('\n')).toEqual(paths);
});

test('both compose files trust their proxy, and protect the relay alike: no core dump', () => {
  const [relay, other] = [home.services.relay, compose.services['relay-1']];
  const { read_only, cap_drop, security_opt, stop_grace_period, ulimits } = relay ?? {};
  expect(other).toMatchObject({ read_only, cap_drop, security_opt, stop_grace_period, ulimits });
  // A dump would have secrets and tokens.
  expect(ulimits?.core).toBe(0);
  expect(read('sign-in-relay.service')).toContain('\nLimitCORE=0\n');
  for (const [network, container] of [
    [home.networks.relay, relay],
    [compose.networks.relays, other],
  ] as const) {
    const subnet = container?.environment?.TRUSTED_PROXY_CIDRS;
    expect([network?.ipam, subnet]).toEqual([{ config: [{ subnet }] }, expect.any(String)]);
  }
});

const withPromtool = test.if(has('Prometheus', 'Prometheus accepts deploy/prometheus.yaml'));

withPromtool('Prometheus accepts its configuration, with a token and the alert rules', async () => {
  const folder = newFolder();
  mkdirSync(join(folder, 'secrets/metrics'), { recursive: true });
  writeFileSync(join(folder, 'secrets/metrics/admin-token'), '');
  writeFileSync(join(folder, 'alerts.yaml'), read('alerts.yaml'));
  const config = join(folder, 'prometheus.yaml');
  writeFileSync(config, read('prometheus.yaml').replace('#authorization:', 'authorization:'));
  const { exitCode, output } = await runChild(['promtool', 'check', 'config', config]);
  expect([exitCode, output]).toEqual([0, expect.stringContaining('rules found')]);
});

test('Caddy may still try for 20 s when a poll that was held is lost', () => {
  const numberOf = (pattern: RegExp) => Number(pattern.exec(read('Caddyfile'))?.[1]);
  const tryMs = numberOf(/lb_retries (\d+)/) * numberOf(/lb_try_interval (\d+)ms/);
  expect(tryMs).toBe(20_000);
  // It counts from the beginning of the request.
  const longestMs = POLL_SECONDS * 1_000 + tryMs;
  expect(numberOf(/lb_try_duration (\d+)s/) * 1_000).toBeGreaterThan(longestMs);
});

test.each(['nginx.conf', 'nginx-site.conf'])('%s waits longer than a poll is held', (file) => {
  const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(read(file)) ?? [];
  expect(Number(seconds)).toBeGreaterThan(POLL_SECONDS + 10);
});

test('Caddy closes idle connections before the relay does', () => {
  const [, seconds] = /keepalive (\d+)s/.exec(read('Caddyfile')) ?? [];
  const idleSeconds = POLL_SECONDS + IDLE_MARGIN_SECONDS;
  expect(Number(seconds)).toBeLessThan(idleSeconds);
  expect(readFileSync(`${ROOT}docs/proxies.md`, 'utf8')).toContain(`the relay's ${idleSeconds} s`);
});

test('the Dockerfile names each foreign image by its digest, since a tag may be moved', () => {
  const [, ...stages] = read('Dockerfile').split(/^FROM /m);
  const names = stages.map((stage) => / AS (\w+)/.exec(stage)?.[1]);
  const images = stages.map((stage) => stage.split(/\s/)[0] ?? '');
  const ofOthers = images.filter((image) => image !== 'scratch' && !names.includes(image));
  expect(ofOthers).toEqual([expect.stringMatching(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/)]);
});

test('the user in Valkey has the rights of docs/scaling.md, and no others', () => {
  const { places, commands } = readAcl('single');
  const user = read('valkey-users.acl')
    .split('\n')
    .find((line) => line.startsWith('user relay '));
  expect(user).toBe(['user relay on >RELAY_PASSWORD', ...places, ...commands].join(' '));
});

test('each package accepts each Node that package.json names, so npm warns of none', () => {
  // The first release of every minor version that may exist.
  const releases = Array.from({ length: 12 }, (_, major) =>
    Array.from({ length: 30 }, (_, minor) => `${major + 18}.${minor}.0`),
  ).flat();
  const supported = releases.filter((node) => Bun.semver.satisfies(node, packageJson.engines.node));
  expect(supported.length).toBeGreaterThan(0);
  type Installed = { readonly version?: string; readonly engines?: { readonly node?: string } };
  const packages: [string, Installed][] = Object.entries(lockFile.packages);
  const refusals = packages.flatMap(([name, { version, engines: { node: range } = {} }]) => {
    const refused = supported.find((node) => range && !Bun.semver.satisfies(node, range));
    return refused ? [`${name} ${version} does not accept Node ${refused}`] : [];
  });
  expect(refusals).toEqual([]);
});

interface Tree {
  readonly [name: string]: Tree;
}

/** No cluster runs here. */
describe('kubernetes.yaml', () => {
  const objects = Bun.YAML.parse(read('kubernetes.yaml')) as readonly Tree[];

  function find(kind: string): Tree {
    const found = objects.find((object) => String(object.kind) === kind);
    if (found === undefined) throw new Error(`there is no ${kind}`);
    return found;
  }

  const pod = find('Deployment').spec?.template?.spec;
  const relay = pod?.containers?.[0];
  const env = (relay?.env ?? []) as unknown as readonly { name: string; value: string }[];
  /** docs/operating.md "Stopping". */
  const LONGEST_STOP_SECONDS = 25;

  test('every part finds the pods by their labels', () => {
    const labels = find('Deployment').spec?.template?.metadata?.labels;
    const selectors = [
      find('Deployment').spec?.selector?.matchLabels,
      find('Service').spec?.selector,
      find('PodDisruptionBudget').spec?.selector?.matchLabels,
      find('NetworkPolicy').spec?.podSelector?.matchLabels,
      pod?.topologySpreadConstraints?.[0]?.labelSelector?.matchLabels,
    ];
    for (const selector of selectors) expect(selector).toEqual(labels as unknown as Tree);
  });

  test('it has only settings of the relay, and no secret: those come from a Secret', () => {
    const names = env.map(({ name }) => name).filter((name) => name !== 'MAL_CLIENT_ID');
    const known = namesOf(RELAY_SETTINGS);
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
    expect(names.filter((name) => /SECRET|TOKEN|PASSWORD|REDIS_URL/.test(name))).toEqual([]);
    expect(relay?.envFrom as unknown).toEqual([{ secretRef: { name: 'sign-in-relay' } }]);
    expect(objects.map(({ kind }) => String(kind))).not.toContain('Secret');
  });

  test('a pod is ready by /ready and alive by /health, and may wait for Redis', () => {
    const pathOf = (probe: string) => String(relay?.[probe]?.httpGet?.path);
    expect(['startupProbe', 'readinessProbe', 'livenessProbe'].map(pathOf)).toEqual([
      '/health',
      '/ready',
      '/health',
    ]);
    const { periodSeconds, failureThreshold } = relay?.startupProbe ?? {};
    expect(Number(periodSeconds) * Number(failureThreshold)).toBeGreaterThan(
      REDIS_WAIT_MS / 1_000 + 30,
    );
  });

  test('a pod has time to stop after preStop, which needs no shell', () => {
    const seconds = Number(relay?.lifecycle?.preStop?.sleep?.seconds);
    expect(seconds).toBeGreaterThanOrEqual(10);
    const grace = Number(pod?.terminationGracePeriodSeconds);
    expect(grace).toBeGreaterThan(seconds + LONGEST_STOP_SECONDS);
  });

  test('one pod has the memory for every sign-in that may be open', () => {
    const sessions = Number(env.find(({ name }) => name === 'MAX_SESSIONS')?.value);
    const mebibytes = Number(/^(\d+)Mi$/.exec(String(relay?.resources?.limits?.memory))?.[1]);
    // docs/install.md "Requirements", and as much again for a peak.
    expect(sessions).toBeLessThanOrEqual(MAX_PARKED_POLLS);
    expect(2 * (55e6 + sessions * 7e3)).toBeLessThan(mebibytes * 2 ** 20);
  });
});
