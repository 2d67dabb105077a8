/**
 * What kustomize makes of deploy/kubernetes follows the schemas of Kubernetes, and agrees with itself
 * and with the relay. No cluster runs here.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as models from 'kubernetes-models';
import packageJson from '../../package.json' with { type: 'json' };
import { DEFAULT_REDIS_WAIT_SECONDS } from '../../src/limits.ts';
import { RELAY_SETTINGS } from '../../src/settings/names.ts';
import { DEFAULT_POLL_SECONDS } from '../kit/limits.ts';
import { runChild } from '../kit/process.ts';
import { ROOT } from '../kit/relay.ts';

interface Tree {
  readonly [name: string]: Tree;
}

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-kubernetes-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Changes {
  /** The lines of its kustomization that are comments at first. */
  readonly isWhole?: boolean;
  readonly settings?: (text: string) => string;
  readonly secret?: string;
}

/** What `kubectl apply -k` would send to a cluster. */
async function build(example: string, changes: Changes = {}): Promise<readonly Tree[]> {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(`${ROOT}deploy/kubernetes`, copy, { recursive: true });
  const file = (name: string) => join(copy, example, name);
  mkdirSync(file('secrets'));
  for (const name of ['redis-url', 'anilist', 'admin-token']) {
    writeFileSync(file(`secrets/${name}`), changes.secret ?? 'not a secret');
  }
  const change = (name: string, to: (text: string) => string) =>
    writeFileSync(file(name), to(readFileSync(file(name), 'utf8')));
  if (changes.isWhole) change('kustomization.yaml', withoutCommentSigns);
  change('settings.env', changes.settings ?? ((text) => text));
  const { exitCode, output } = await runChild(['kustomize', 'build', join(copy, example)]);
  // A warning of kustomize would be in it too.
  expect([exitCode, output]).toEqual([0, expect.stringMatching(/^apiVersion: /)]);
  return output.split(/^---$/m).map((part) => Bun.YAML.parse(part) as Tree);
}

const withoutCommentSigns = (text: string) =>
  text.replace(
    /^( *)# (?=components:|secretGenerator:| *- (name:|\.\.\/|secrets\/)| +files:)/gm,
    '$1',
  );

const finderIn = (manifests: readonly Tree[]) => (kind: string) => {
  const found = manifests.find((manifest) => String(manifest.kind) === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found;
};
const kindsOf = (manifests: readonly Tree[]) => manifests.map(({ kind }) => String(kind)).sort();
const podOf = (manifests: readonly Tree[]) =>
  finderIn(manifests)('Deployment').spec?.template?.spec;

type Model = new (data: unknown) => { validate(): void };

/** `apps/v1` and `Deployment` -> the class that validates it. `networking.k8s.io` is `networkingK8sIo` there. */
function modelOf({ apiVersion, kind }: Tree): Model {
  const group = String(apiVersion).replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase());
  const path = [...group.split('/'), String(kind)];
  const found = path.reduce<unknown>(
    (part, name) => (part as Record<string, unknown>)[name],
    models,
  );
  return found as Model;
}

/** Every name of a field that a schema has: the schemas themselves allow unknown ones. */
function readFieldNames(): Set<string> {
  const folder = join(require.resolve('kubernetes-models'), '../_schemas');
  const schemas = readdirSync(folder).filter((name) => /^IoK8s.*\.js$/.test(name));
  const names = schemas.flatMap((name) => {
    const schema = readFileSync(join(folder, name), 'utf8');
    return [...schema.matchAll(/data\d*\.(\w+)/g)].map(([, field = '']) => field);
  });
  return new Set([...names, ...OPEN]);
}

/** The names of what they contain are ours. */
const OPEN = new Set(['annotations', 'data', 'labels', 'matchLabels', 'requests', 'limits']);

function namesIn(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null) return [];
  if (Array.isArray(tree)) return tree.flatMap(namesIn);
  return Object.entries(tree)
    .flatMap(([name, value]) => [name, ...(OPEN.has(name) ? [] : namesIn(value))])
    .filter((name) => !name.startsWith('app.kubernetes.io/'));
}

const EXAMPLES = [
  ['one-relay', await build('one-relay')],
  ['one-relay with all components', await build('one-relay', { isWhole: true })],
  ['with-redis', await build('with-redis')],
  ['with-redis with all components', await build('with-redis', { isWhole: true })],
] as const;
const ALWAYS = ['ConfigMap', 'Deployment', 'Ingress', 'NetworkPolicy', 'Service'];

test('each example has what it needs', () => {
  const kinds = Object.fromEntries(EXAMPLES.map(([name, found]) => [name, kindsOf(found)]));
  expect(kinds).toEqual({
    'one-relay': ALWAYS,
    'one-relay with all components': [...ALWAYS, 'PodMonitor', 'Secret'].sort(),
    'with-redis': [...ALWAYS, 'PodDisruptionBudget', 'Secret'].sort(),
    'with-redis with all components': [
      ...[...ALWAYS, 'HorizontalPodAutoscaler', 'PodDisruptionBudget', 'PodMonitor', 'Secret'],
    ].sort(),
  });
});

describe.each(EXAMPLES)('%s', (_, manifests) => {
  const find = finderIn(manifests);
  const has = (kind: string) => kindsOf(manifests).includes(kind);
  const pod = podOf(manifests);
  const relay = pod?.containers?.[0];
  const ports = (relay?.ports ?? []) as unknown as readonly Port[];
  const env = (relay?.env ?? []) as unknown as readonly Variable[];

  /** PodMonitor is no part of Kubernetes. */
  const ofKubernetes = manifests.filter(({ kind }) => String(kind) !== 'PodMonitor');
  test.each(ofKubernetes.map((each) => [String(each.kind), each] as const))(
    '%s follows its schema, and has no field that Kubernetes does not know',
    (_, manifest) => {
      const Model = modelOf(manifest);
      expect(() => new Model(manifest).validate()).not.toThrow();
      expect(namesIn(manifest).filter((name) => !KNOWN_FIELDS.has(name))).toEqual([]);
    },
  );

  test('has only settings of the relay and of its providers', () => {
    const names = [...Object.keys(find('ConfigMap').data ?? {}), ...env.map(({ name }) => name)];
    const unknown = names.filter((name) => !Object.hasOwn(RELAY_SETTINGS, name));
    expect(unknown.filter((name) => !/^(MAL_CLIENT_ID|ADMIN_\w+)$/.test(name))).toEqual([]);
  });

  test('every part finds the pods by their labels', () => {
    const labels = find('Deployment').spec?.template?.metadata?.labels;
    const selectors = [
      find('Deployment').spec?.selector?.matchLabels,
      find('Service').spec?.selector,
      find('NetworkPolicy').spec?.podSelector?.matchLabels,
      ...(has('PodDisruptionBudget')
        ? [
            find('PodDisruptionBudget').spec?.selector?.matchLabels,
            pod?.topologySpreadConstraints?.[0]?.labelSelector?.matchLabels,
          ]
        : []),
      ...(has('PodMonitor') ? [find('PodMonitor').spec?.selector?.matchLabels] : []),
    ];
    for (const selector of selectors) expect(selector).toEqual(labels as unknown as Tree);
  });

  test('the pod gets the settings, and the secrets where the settings look for them', () => {
    expect(relay?.envFrom?.[0]?.configMapRef?.name).toEqual(find('ConfigMap').metadata?.name);
    const { secretName } = pod?.volumes?.[0]?.secret ?? {};
    expect(secretName as unknown).toEqual(
      has('Secret') ? find('Secret').metadata?.name : 'sign-in-relay',
    );
    const [mount] = (relay?.volumeMounts ?? []) as unknown as readonly { mountPath: string }[];
    for (const { value } of env.filter(({ name }) => name.endsWith('_FILE'))) {
      expect(value).toStartWith(`${mount?.mountPath}/`);
      const file = value.slice(value.lastIndexOf('/') + 1);
      expect(Object.keys(find('Secret').data ?? {})).toContain(file);
    }
  });

  test('a request comes from the Ingress by the Service to the port of the relay', () => {
    const service = find('Ingress').spec?.rules?.[0]?.http?.paths?.[0]?.backend?.service;
    expect(service?.name).toEqual(find('Service').metadata?.name);
    const [port] = (find('Service').spec?.ports ?? []) as unknown as readonly Tree[];
    expect(service?.port?.name).toEqual(port?.name);
    expect(ports).toContainEqual({ name: String(port?.targetPort), containerPort: 8080 });
  });

  test('the Ingress waits longer than a poll is held, by the annotation of each controller', () => {
    const annotations = Object.entries(find('Ingress').metadata?.annotations ?? {});
    const timeouts = annotations.filter(([name]) => name.includes('timeout'));
    expect(timeouts.length).toBe(3);
    for (const [, value] of timeouts) {
      expect(Number.parseInt(String(value), 10)).toBeGreaterThan(DEFAULT_POLL_SECONDS + 10);
    }
  });

  // A client of the first may forge addresses of TRUSTED_PROXY_CIDRS, and who reaches the second may read metrics.
  test('each port of the pod is open to one namespace only', () => {
    const { policyTypes, ingress } = find('NetworkPolicy').spec ?? {};
    expect(policyTypes as unknown).toEqual(['Ingress']);
    const rules = (ingress ?? []) as unknown as readonly PolicyRule[];
    const open = rules.flatMap(({ from, ports: allowed }) => {
      const selectors = from.map(({ namespaceSelector }) => namespaceSelector.matchLabels);
      return allowed.map(({ port }) => ({ port, from: selectors }));
    });
    const admin = { port: 'admin', from: [{ 'kubernetes.io/metadata.name': 'monitoring' }] };
    expect(open).toEqual([
      { port: 'http', from: [{ 'kubernetes.io/metadata.name': 'traefik' }] },
      ...(has('PodMonitor') ? [admin] : []),
    ]);
    expect(ports.map(({ name }) => name).sort()).toEqual(open.map(({ port }) => port).sort());
  });

  test('Prometheus asks at the admin port, if the pod has one', () => {
    const monitor = has('PodMonitor') ? find('PodMonitor') : undefined;
    const admin = ports.filter(({ name }) => name === 'admin');
    const name = has('Secret') ? find('Secret').metadata?.name : undefined;
    const authorization = { credentials: { name, key: 'admin-token' } };
    expect((monitor?.spec?.podMetricsEndpoints ?? []) as unknown).toEqual(
      admin.map((port) => ({ port: port.name, path: '/metrics', authorization })),
    );
    expect(env.some(({ name }) => name === 'ADMIN_TOKEN_FILE')).toBe(admin.length > 0);
    for (const { containerPort } of admin) {
      expect(env).toContainEqual({
        name: 'ADMIN_PORT',
        value: `${containerPort}`,
      });
    }
  });

  test('the pod has time to start while Redis does not run yet', () => {
    const { periodSeconds, failureThreshold } = relay?.startupProbe ?? {};
    const seconds = Number(periodSeconds) * Number(failureThreshold);
    expect(seconds).toBeGreaterThan(DEFAULT_REDIS_WAIT_SECONDS + 30);
  });

  test('the pod has time to stop after preStop, which needs no shell', () => {
    const seconds = Number(relay?.lifecycle?.preStop?.sleep?.seconds);
    expect(seconds).toBeGreaterThanOrEqual(10);
    // docs/operating.md "Stopping": at most about 25 s.
    expect(Number(pod?.terminationGracePeriodSeconds)).toBeGreaterThanOrEqual(seconds + 30);
  });

  test('the image is that of this version', () => {
    expect(String(relay?.image)).toEndWith(`/sign-in-relay:${packageJson.version}`);
  });
});

const KNOWN_FIELDS = readFieldNames();

interface Variable {
  readonly name: string;
  readonly value: string;
}

interface Port {
  readonly name: string;
  readonly containerPort: number;
}

interface PolicyRule {
  readonly from: readonly {
    readonly namespaceSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  }[];
  readonly ports: readonly { readonly port: string }[];
}

test('the check finds a wrong type and a misspelt field', () => {
  const wrong = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 'two' } };
  const Model = modelOf(wrong as unknown as Tree);
  expect(() => new Model(wrong).validate()).toThrow('replicas');
  expect(namesIn({ preStopp: {} }).filter((name) => !KNOWN_FIELDS.has(name))).toEqual(['preStopp']);
});

test('a relay that keeps its sessions in memory is never two, not even during an update', () => {
  const { replicas, strategy } = finderIn(EXAMPLES[0][1])('Deployment').spec ?? {};
  expect({ replicas, strategy } as unknown).toEqual({
    replicas: 1,
    strategy: { type: 'Recreate' },
  });
});

test('it scales on parked polls, by the name of the metric, and nothing else sets how many', () => {
  const find = finderIn(EXAMPLES[3][1]);
  expect(find('HorizontalPodAutoscaler').spec?.metrics?.[0]?.pods?.metric).toEqual({
    name: 'sign_in_relay_parked_polls',
  } as unknown as Tree);
  expect(find('Deployment').spec).not.toHaveProperty('replicas');
});

test('the Ingress has the host of OAUTH_BASE_URL, also below a path', async () => {
  const settings = (text: string) =>
    text.replace('https://relay.example', 'https://home.example/relay');
  const { tls, rules } = finderIn(await build('one-relay', { settings }))('Ingress').spec ?? {};
  expect(tls?.[0]?.hosts as unknown).toEqual(['home.example']);
  expect(String(rules?.[0]?.host)).toBe('home.example');
});

// The name of what it mounts changes, so Kubernetes starts new pods.
test.each([
  ['setting', { settings: (text: string) => `${text}LOG_LEVEL=debug\n` }],
  ['secret', { secret: 'another' }],
])('a changed %s changes the pod', async (_, changes) => {
  const changed = podOf(await build('with-redis', changes));
  expect(changed).not.toEqual(podOf(EXAMPLES[2][1]));
  const only = (pod: Tree | undefined) =>
    JSON.stringify(pod).replaceAll(/"sign-in-relay-\w{10}"/g, '""');
  expect(only(changed)).toBe(only(podOf(EXAMPLES[2][1])));
});

test('the repository has no secret, and git ignores the files that an operator writes', async () => {
  const names = ['kubernetes/with-redis/secrets/redis-url', 'secrets/redis-url', '.env'];
  const files = names.map((name) => `deploy/${name}`);
  const { output } = await runChild(['git', 'check-ignore', ...files], { cwd: ROOT });
  expect(output.trim().split('\n')).toEqual(files);
});
