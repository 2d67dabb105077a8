/** deploy/kubernetes.yaml agrees with itself and with the relay. No cluster runs here. */
import { expect, test } from 'bun:test';
import { MAX_PARKED_POLLS, REDIS_WAIT_MS } from '../../src/limits.ts';
import { namesOf, RELAY_SETTINGS } from '../../src/settings/names.ts';
import { ROOT } from '../kit/relay.ts';

interface Tree {
  readonly [name: string]: Tree;
}

const text = await Bun.file(`${ROOT}deploy/kubernetes.yaml`).text();
const objects = text.split(/^---$/m).map((part) => Bun.YAML.parse(part) as Tree);

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
