/** What is deployed: small, and nothing that the runtime does not have. */
import { expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { buildOnce } from '../kit/workers.ts';

/** The free plan of Cloudflare has a limit of three times that. */
const MAX_GZIPPED_BYTES = 1_000_000;

test('the Worker is under 1 MB, without Redis, the server of Node and the command line', async () => {
  const text = await buildOnce();
  expect(gzipSync(text).byteLength).toBeLessThan(MAX_GZIPPED_BYTES);
  const sources = [...text.matchAll(/^\/\/ (\S+\.\w+)$/gm)].map(([, path = '']) => path);
  expect(sources).toContain('src/workers/worker.ts');
  const foreign = /@redis|@hono\/node-server|src\/(server|cli|admin)\/|stores\/redis\/(?!url)/;
  expect(sources.filter((path) => foreign.test(path))).toEqual([]);
});

test('it imports only modules that every Worker has', async () => {
  const text = await buildOnce();
  const imported = [...text.matchAll(/^(?:import|export) .*?from "([^"]+)"|^\} from "([^"]+)"/gm)];
  const names = [...new Set(imported.map(([, one, other]) => one ?? other))].toSorted();
  expect(names).toEqual([
    'cloudflare:workers',
    'node:buffer',
    'node:crypto',
    'node:net',
    'node:zlib',
  ]);
  expect(text).not.toMatch(/\bcreateRequire\b|\bprocess\.(env|exit|on)\b|\bBun\./);
});
