/** Debian's nginx with deploy/nginx.conf, on the loopback and in a folder of its own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../support/free-port.ts';
import { writeCertificate } from '../../support/redis/certificate.ts';
import { pollUntil } from '../../support/redis/poll-until.ts';

const CONFIG = join(import.meta.dir, '../../../deploy/nginx.conf');
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface RunningNginx {
  readonly baseUrl: string;
  /** `fetch` that trusts its certificate. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  accessLog(): string;
  errorLog(): string;
  stop(): Promise<void>;
}

/** `openFiles`: how many files and sockets each of its processes may have open; else as many as we. */
export async function runNginx(
  relayPorts: readonly [number, number],
  openFiles?: number,
): Promise<RunningNginx> {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-nginx-'));
  const { caFile, certificateFile, keyFile } = await writeCertificate(folder);
  const port = await findFreePort();
  const paths = TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
  const config = replaceAll(readFileSync(CONFIG, 'utf8'), {
    'http {': `pid ${folder}/pid; http { ${paths}`,
    'listen 443': `listen 127.0.0.1:${port}`,
    'relay-1:8080': `127.0.0.1:${relayPorts[0]}`,
    'relay-2:8080': `127.0.0.1:${relayPorts[1]}`,
    '/etc/nginx/certificates/fullchain.pem': certificateFile,
    '/etc/nginx/certificates/privkey.pem': keyFile,
    '/dev/stdout': `${folder}/access.log`,
    '/dev/stderr': `${folder}/error.log`,
  });
  writeFileSync(join(folder, 'nginx.conf'), config);
  const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles}; `;
  const command = `${limit}exec nginx -p "$0" -c nginx.conf -g 'daemon off;'`;
  const nginx = spawn('/bin/sh', ['-c', command, folder], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => nginx.once('close', () => resolve()));
  process.once('exit', () => nginx.kill('SIGTERM'));
  const baseUrl = `https://127.0.0.1:${port}`;
  const tls = { ca: readFileSync(caFile, 'utf8') };
  const fetchThrough = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, baseUrl), { ...init, tls });
  await pollUntil('nginx answers', () => fetchThrough('/health').catch(() => undefined));
  return {
    baseUrl,
    fetch: fetchThrough,
    accessLog: () => readFileSync(join(folder, 'access.log'), 'utf8'),
    errorLog: () => readFileSync(join(folder, 'error.log'), 'utf8'),
    async stop() {
      nginx.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Each must be there, or the test would run something else than is shipped. */
function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`${CONFIG} does not say ${from}`);
    return changed.replaceAll(from, to);
  }, text);
}
