/** deploy/kubernetes follows the schemas of Kubernetes, and agrees with itself and with the relay. No cluster runs here. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as models from 'kubernetes-models';
import packageJson from '../../package.json' with { type: 'json' };
import { RELAY_SETTINGS } from '../../src/settings/names.ts';
import { ROOT } from '../kit/relay.ts';

interface Tree {
  readonly [name: string]: Tree;
}

const text = readFileSync(`${ROOT}deploy/kubernetes/relay.yaml`, 'utf8');
const manifests = text.split(/^---$/m).map((part) => Bun.YAML.parse(part) as Tree);
const find = (kind: string) => {
  const found = manifests.find((manifest) => String(manifest.kind) === kind);
  if (found === undefined) throw new Error(`there is no ${kind}`);
  return found;
};
const pod = find('Deployment').spec?.template?.spec;
const relay = pod?.containers?.[0];

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
const OPEN = new Set(['data', 'labels', 'matchLabels', 'requests', 'limits']);

function namesIn(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null) return [];
  if (Array.isArray(tree)) return tree.flatMap(namesIn);
  return Object.entries(tree)
    .flatMap(([name, value]) => [name, ...(OPEN.has(name) ? [] : namesIn(value))])
    .filter((name) => !name.startsWith('app.kubernetes.io/'));
}

describe.each(manifests.map((manifest) => [String(manifest.kind), manifest] as const))(
  '%s',
  (_, manifest) => {
    test('follows its schema', () => {
      const Model = modelOf(manifest);
      expect(() => new Model(manifest).validate()).not.toThrow();
    });

    test('has no field that Kubernetes does not know', () => {
      const known = readFieldNames();
      expect(namesIn(manifest).filter((name) => !known.has(name))).toEqual([]);
    });
  },
);

test('the check finds a wrong type and a misspelt field', () => {
  const wrong = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 'two' } };
  const Model = modelOf(wrong as unknown as Tree);
  expect(() => new Model(wrong).validate()).toThrow('replicas');
  expect(namesIn({ preStopp: {} }).filter((name) => !readFieldNames().has(name))).toEqual([
    'preStopp',
  ]);
});

test('has only settings of the relay and of its providers', () => {
  const env = (relay?.env as unknown as readonly { readonly name: string }[]) ?? [];
  const names = [...Object.keys(find('ConfigMap').data ?? {}), ...env.map(({ name }) => name)];
  const unknown = names.filter((name) => !Object.hasOwn(RELAY_SETTINGS, name));
  expect(unknown.filter((name) => !/^(MAL_CLIENT_ID|ADMIN_\w+)$/.test(name))).toEqual([]);
});

test('every part finds the pods: the service, the budget, the policy and the spread by their labels', () => {
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

interface PolicyRule {
  readonly from: readonly {
    readonly namespaceSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  }[];
  readonly ports: readonly { readonly port: string }[];
}

// A client of the first may forge addresses of TRUSTED_PROXY_CIDRS, and the second has no password.
test('each port of the pod is open to one namespace only', () => {
  const { policyTypes, ingress } = find('NetworkPolicy').spec ?? {};
  expect(policyTypes as unknown).toEqual(['Ingress']);
  const rules = (ingress ?? []) as unknown as readonly PolicyRule[];
  const open = rules.flatMap(({ from, ports }) => {
    const selectors = from.map(({ namespaceSelector }) => namespaceSelector.matchLabels);
    return ports.map(({ port }) => ({ port, from: selectors }));
  });
  expect(open).toEqual([
    { port: 'http', from: [{ 'kubernetes.io/metadata.name': 'ingress-nginx' }] },
    { port: 'admin', from: [{ 'kubernetes.io/metadata.name': 'monitoring' }] },
  ]);
  const ports = (relay?.ports ?? []) as unknown as readonly { readonly name: string }[];
  expect(ports.map(({ name }) => name)).toEqual(open.map(({ port }) => port));
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

test('it scales on parked polls, by the name of the metric', () => {
  expect(find('HorizontalPodAutoscaler').spec?.metrics?.[0]?.pods?.metric).toEqual({
    name: 'sign_in_relay_parked_polls',
  } as unknown as Tree);
});
