#!/usr/bin/env node
/**
 * `sign-in-relay`: starts the relay on Bun where there is one, otherwise on Node, in this process.
 * Plain JavaScript without packages, so that every Node from 18 on can read it, and Bun can too.
 */
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, readdirSync, realpathSync } = require('node:fs');
const { basename, delimiter, dirname, isAbsolute, join } = require('node:path');
const { pathToFileURL } = require('node:url');

const isWindows = process.platform === 'win32';
const BUN = isWindows ? 'bun.exe' : 'bun';
const root = dirname(__dirname);
/** A package has only this. In a checkout the sources are newer, but Node needs the build. */
const built = join(root, 'dist', 'cli', 'main.js');
const source = join(root, 'src', 'cli', 'main.ts');

/** The oldest Node that can read the build. The relay runs there, but says that it is not supported. */
const OLDEST_NODE = 20;

const bun = findBun();
if (bun !== undefined) runOn(bun);
else if (!existsSync(built)) fail('there is no build for Node: run npm ci');
else if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  fail(`Node ${process.versions.node} is too old: install Node 24`);
} else void import(pathToFileURL(built).href);

/** Finds a Bun that is new enough: the one that runs this, the package bun below or beside this one, or one in PATH. */
function findBun() {
  if (isNewEnough(process.versions.bun)) return process.execPath;
  const beside = dirname(root);
  const ofNpm = [
    join(root, 'node_modules', 'bun'),
    ...(basename(beside) === 'node_modules' ? [join(beside, 'bun')] : []),
  ].flatMap(findInPackage);
  // Searched here, because Windows would begin with the current folder, which may be a stranger's.
  const ofMachine = (process.env.PATH || '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, BUN));
  return [...ofNpm, ...ofMachine].find((file) => {
    if (!existsSync(file)) return false;
    const { stdout } = spawnSync(file, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return isNewEnough(stdout);
  });
}

/**
 * A script of the package puts the program for this system where the first path is. Where npm or
 * pnpm may run no scripts, it is still in the package from which that script would take it.
 */
function findInPackage(folder) {
  if (!existsSync(folder)) return [];
  const packages = join(dirname(realpathSync(folder)), '@oven');
  const names = existsSync(packages) ? readdirSync(packages) : [];
  return [
    // On every system.
    join(folder, 'bin', 'bun.exe'),
    ...names.map((name) => join(packages, name, 'bin', BUN)),
  ];
}

/** Bun 1.4 or newer. */
function isNewEnough(version) {
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)\./.exec(version || '') || []).map(Number);
  return major > 1 || (major === 1 && minor >= 4);
}

function runOn(bun) {
  const args = [
    // The current folder may be a stranger's. These options keep Bun from running code that its
    // bunfig.toml (preload) or tsconfig.json (paths) names, from setting the variables of its .env
    // files, and from taking missing packages from the registry that its .npmrc names.
    `--config=${join(__dirname, 'bunfig.toml')}`,
    `--tsconfig-override=${join(root, 'tsconfig.json')}`,
    '--no-env-file',
    '--no-install',
    existsSync(source) ? source : built,
    ...process.argv.slice(2),
  ];
  // Bun reads this when it starts. Its default is 256 (docs/operating.md "Requests to providers").
  const BUN_CONFIG_MAX_HTTP_REQUESTS = process.env.BUN_CONFIG_MAX_HTTP_REQUESTS || '5000';
  const env = { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS };
  // Since Node 22.15, in this process. On Windows it throws.
  if (process.execve && !isWindows) process.execve(bun, [bun, ...args], env);
  waitFor(spawn(bun, args, { env, stdio: 'inherit' }));
}

/** Passes on signals, and ends as Bun ends. */
function waitFor(child) {
  const signals = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGBREAK'];
  for (const signal of signals) {
    process.on(signal, () => {
      // Windows has sent it to every program of the console, and `kill` would end Bun at once.
      if (!isWindows) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    else {
      for (const each of signals) process.removeAllListeners(each);
      process.kill(process.pid, signal);
    }
  });
}

function fail(problem) {
  process.stderr.write(`sign-in-relay: there is no Bun 1.4 or newer, and ${problem}\n`);
  process.exitCode = 1;
}
