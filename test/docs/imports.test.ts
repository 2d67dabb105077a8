/** Who may import whom (ARCHITECTURE.md), in one table. That nobody does so in a circle is a rule of biome.json. */
import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const ROOT = join(import.meta.dir, '../..');
const FOLDERS = ['src', 'client/src', 'conformance', 'bench', 'scripts'];

/**
 * The first row that fits a file applies: what it may import. A module of the project is named
 * by its path from the root, without `src/`.
 */
const RULES: readonly (readonly [file: RegExp, mayImport: RegExp])[] = [
  [/^sign-ins\//, /^(sign-ins\/|limits|node:(crypto|buffer)$)/],
  [/^(log|limits|body|monitor|text-file|version)\.ts/, /^(node:|package\.json)/],
  [/^notify\.ts/, /^(log|monitor|service|settings\/index|providers\/con|sign-ins\/time|node:)/],
  [/^providers\//, /^(providers\/|sign-ins\/|limits|body|monitor|node:|ipaddr)/],
  [/^stores\/redis\//, /^(stores\/(redis\/|[\w-]+\.ts)|sign-ins\/|limits|monitor|node:|@redis\/)/],
  [/^stores\//, /^(stores\/(sqlite\/|[\w-]+\.ts)|sign-ins\/|limits|node:)/],
  [/^pages\//, /^(pages\/|limits|node:|hono)/],
  [
    /^http\//,
    /^(http\/|sign-ins\/|providers\/|pages\/|limits|log|monitor|body|node:|hono|ipaddr|lean-qr)/,
  ],
  [
    /^settings\//,
    /^(settings\/|providers\/|pages\/|stores\/redis\/url|limits|text-file|node:|ipaddr|fastest-)/,
  ],
  // A Worker is not a process: it has no server, no command line and no Redis.
  [
    /^workers\//,
    /^(workers\/|service\.ts|settings\/|http\/|providers\/|sign-ins\/|stores\/(sqlite\/|memory)|limits|log|monitor|node:|cloudflare:)/,
  ],
  // A device: an app of the client.
  [
    /^cli\/(login\/|terminal|command-line)/,
    /^(cli\/(login\/|terminal|command-line)|client\/src\/(index|node|ask)|pages\/shown-name|limits|node:|lean-qr)/,
  ],
  // Only main imports the server and the runtimes; nobody imports main.
  [/^cli\/main\.ts/, /^(?!cli\/main)/],
  [/^cli\/dev\//, /^(?!bun|@redis|cli\/(main|login)|server\/(serve|runtime-))/],
  [
    /^admin\//,
    /^(admin\/|http\/(app|responses|request)|sign-ins\/|server\/machine|providers\/open|settings\/index|monitor|version|log|limits|service|package\.json|node:|hono)/,
  ],
  [/^server\/runtime-bun\.ts/, /^(?!cli\/|hono|@redis)/],
  [/^server\//, /^(?!cli\/|bun|hono$|@redis)/],
  [
    /^(cli\/|service|start-service|embed)/,
    /^(?!bun|hono|@redis|cli\/main|server\/(serve|runtime-))/,
  ],
  [/^client\/src\/(node|testing)\.ts/, /^(client\/src\/|node:)/],
  [/^client\/src\/react\.ts/, /^(client\/src\/|react$)/],
  [/^client\/src\//, /^client\/src\//],
  // Black-box: it imports nothing of the relay.
  [/^conformance\//, /^(conformance\/|node:)/],
  [/^(bench|scripts)\//, /./],
];

const files = FOLDERS.flatMap((folder) => [
  ...new Bun.Glob(`${folder}/**/*.{ts,tsx}`).scanSync(ROOT),
]).sort();
const nameOf = (path: string) => path.replace(/^src\//, '');

/** The modules that a file imports or exports from, by statement or call. */
function readImports(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found = text.matchAll(
    /^(?:import|export|\}) [^'"]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm,
  );
  return [...found].map(([, from, bare, called]) => {
    const name = from ?? bare ?? called ?? '';
    return nameOf(name.startsWith('.') ? posix.join(posix.dirname(file), name) : name);
  });
}

const graph = new Map(files.map((file) => [nameOf(file), readImports(file)]));

test('every file imports only what its row allows', () => {
  const wrong = [...graph].flatMap(([file, imports]) => {
    const rule = RULES.find(([fits]) => fits.test(file));
    if (rule === undefined) return [`${file} has no row`];
    return imports.filter((name) => !rule[1].test(name)).map((name) => `${file} imports ${name}`);
  });
  expect(graph.size).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test('only the runtime for Bun uses the global of Bun', () => {
  const users = files.filter(
    (file) =>
      file.startsWith('src/') &&
      /\bBun\.\w/.test(readFileSync(join(ROOT, file), 'utf8').replace(/^ *(\/?\*|\/\/).*$/gm, '')),
  );
  expect(users).toEqual(['src/server/runtime-bun.ts']);
});
