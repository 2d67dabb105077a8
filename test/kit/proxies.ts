/** Proxies with the files of deploy/, unchanged except for names, ports and certificates. Each has a folder of its own. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endWithFile } from './cleanup.ts';
import { newFolder } from './folder.ts';
import { findFreePort, startChild } from './process.ts';
import { ROOT } from './relay.ts';
import { type CertificateFiles, writeCertificate } from './tls.ts';
import { pollUntil } from './wait.ts';

export type ProxyProcess = Awaited<ReturnType<typeof startProxy>>;

interface ProxyOptions {
  /** Not given: a free one. */
  readonly port?: number;
  readonly openFiles?: number;
  /**
   * The port of a DNS server that knows `relay`. Not given: the relays are at 127.0.0.1, where no
   * two can have the same port, so nginx is given their addresses.
   */
  readonly dnsPort?: number;
  /** More lines for its server or site. */
  readonly directives?: string;
  /** True if it waits for a relay that does not run as long as in production. Default: a second at most. */
  readonly waitsAsInProduction?: boolean;
}

/** The ports of one relay, or of two. */
type RelayPorts = readonly number[];

/** What is configured, before it runs. */
interface Place extends Omit<ProxyOptions, 'openFiles'> {
  readonly folder: string;
  readonly port: number;
  readonly relays: RelayPorts;
  readonly certificate: CertificateFiles;
}

interface Program {
  /** Writes its configuration and returns its command line and environment. */
  configure(place: Place): readonly [command: readonly string[], env?: Record<string, string>];
  /** Divides its output and the files in its folder into what is about requests, and the rest. */
  readLogs(folder: string, output: string): { readonly access: string; readonly error: string };
}

const nginx: Program = {
  configure({ folder, port, relays, dnsPort, certificate, directives = '' }) {
    const addresses = relays.map((relay) => `server 127.0.0.1:${relay} max_fails=0;`).join(' ');
    const config = adapt('nginx.conf', {
      'http {': `pid ${folder}/pid; http { ${temporaryPaths(folder)}`,
      'server_name relay.example;': `server_name relay.example; ${directives}`,
      'listen 443': `listen 127.0.0.1:${port}`,
      ...(dnsPort
        ? {
            'resolver 127.0.0.11': `resolver 127.0.0.1:${dnsPort}`,
            'relay:8080': `relay:${relays[0]}`,
            // Each worker caches names by itself, and a test could not tell when all know a change.
            'worker_processes auto': 'worker_processes 1',
          }
        : // docs/proxies.md "nginx"
          {
            'resolver 127.0.0.11': `upstream relays { ${addresses} } resolver 127.0.0.11`,
            'relay:8080': 'relays',
          }),
      '/etc/nginx/certificates/fullchain.pem': certificate.certificateFile,
      '/etc/nginx/certificates/privkey.pem': certificate.keyFile,
      '/dev/stdout': `${folder}/access.log`,
      '/dev/stderr': `${folder}/error.log`,
    });
    writeFileSync(join(folder, 'nginx.conf'), config);
    return nginxCommand(folder);
  },
  readLogs: (folder, output) => readLogFiles(folder, output, ['error.log']),
};

/** Inside an nginx.conf as Debian's is: its error log has whole requests of what has no log of its own. */
const nginxSite: Program = {
  configure({ folder, port, relays, certificate, directives = '', waitsAsInProduction }) {
    const site = adapt('nginx-site.conf', {
      '127.0.0.1:8080': `127.0.0.1:${relays[0]}`,
      'listen 80;': `listen 127.0.0.2:${port};`,
      'listen [::]:80;': '',
      'listen 443': `listen 127.0.0.1:${port}`,
      'listen [::]:443': `listen [::1]:${port}`,
      'gzip off;': `gzip off; ${directives}`,
      '/etc/letsencrypt/live/relay.example/fullchain.pem': certificate.certificateFile,
      '/etc/letsencrypt/live/relay.example/privkey.pem': certificate.keyFile,
      '/var/log/nginx/sign-in-relay.': `${folder}/`,
      ...(!waitsAsInProduction && { '00ms;': '0ms;' }),
    });
    writeFileSync(join(folder, 'site.conf'), site);
    const main = `pid ${folder}/pid; error_log ${folder}/main.log warn; events { worker_connections 768; }
http { ${temporaryPaths(folder)} access_log ${folder}/main.log; gzip on; include ${folder}/site.conf; }`;
    writeFileSync(join(folder, 'nginx.conf'), main);
    return nginxCommand(folder);
  },
  readLogs: (folder, output) => readLogFiles(folder, output, ['error.log', 'main.log']),
};

function readLogFiles(folder: string, output: string, errorLogs: readonly string[]) {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { access: read('access.log'), error: output + errorLogs.map(read).join('') };
}

const nginxCommand = (folder: string) =>
  [['nginx', '-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;']] as const;

const temporaryPaths = (folder: string) =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');

/** Nothing on the ports 80 and 2019. */
const CADDY_ALONE = '\n\tadmin off\n\tauto_https off\n\tdefault_bind 127.0.0.1\n';

function caddyCommand(folder: string, env: Record<string, string> = {}) {
  const command = ['caddy', 'run', '--adapter', 'caddyfile', '--config', `${folder}/Caddyfile`];
  const homes = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return [command, { ...homes, ...env }] as const;
}

const caddy: Program = {
  configure({ folder, port, relays, certificate, directives = '', waitsAsInProduction }) {
    const config = adapt('Caddyfile', {
      '\n{\n': `\n{${CADDY_ALONE}`,
      'reverse_proxy relay:8080': [
        directives,
        `tls ${certificate.certificateFile} ${certificate.keyFile}`,
        `\treverse_proxy ${relays.map((relay) => `127.0.0.1:${relay}`).join(' ')}`,
      ].join('\n'),
      ...(!waitsAsInProduction && { 'lb_retries 80': 'lb_retries 4' }),
    });
    writeFileSync(join(folder, 'Caddyfile'), config);
    return caddyCommand(folder, { RELAY_HOST: `https://127.0.0.1:${port}` });
  },
  readLogs(_, output) {
    const isAccess = (line: string) => line.includes('"logger":"http.log.access');
    const lines = output.split('\n');
    return {
      access: lines.filter(isAccess).join('\n'),
      error: lines.filter((line) => !isAccess(line)).join('\n'),
    };
  },
};

/** docs/proxies.md "The shortest Caddyfile" */
const shortestCaddy: Program = {
  ...caddy,
  configure({ folder, port, relays, certificate }) {
    const page = readFileSync(`${ROOT}docs/proxies.md`, 'utf8');
    const [, site = ''] = /## The shortest Caddyfile.+?```\n(.+?)```/s.exec(page) ?? [];
    const own = site
      .replace(
        'relay.example {',
        `https://127.0.0.1:${port} {\n\ttls ${certificate.certificateFile} ${certificate.keyFile}`,
      )
      .replace('127.0.0.1:8080', `127.0.0.1:${relays[0]}`)
      .replace('{\n', `{${CADDY_ALONE}`);
    writeFileSync(join(folder, 'Caddyfile'), own);
    return caddyCommand(folder);
  },
};

/** A file of deploy/ with these texts replaced. Throws if one is missing: the test would run something else than is shipped. */
function adapt(file: string, replacements: Readonly<Record<string, string>>): string {
  const shipped = readFileSync(`${ROOT}deploy/${file}`, 'utf8');
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`deploy/${file} does not contain ${from}`);
    return changed.replaceAll(from, () => to);
  }, shipped);
}

const RECIPES = { Caddy: caddy, 'nginx for one': nginxSite, nginx };
const PROGRAMS = { ...RECIPES, 'the shortest Caddyfile': shortestCaddy };
export type ProxyName = keyof typeof PROGRAMS;
/** Each keeps secrets out of its logs. */
export const ALL_NAMES = Object.keys(PROGRAMS) as readonly ProxyName[];
/** Those with a file in deploy/. */
export const PROXY_NAMES = Object.keys(RECIPES) as readonly (keyof typeof RECIPES)[];

/** Resolves once it answers, whether or not a relay does. */
export async function startProxy(name: ProxyName, relays: RelayPorts, options: ProxyOptions = {}) {
  const program = PROGRAMS[name];
  const folder = newFolder();
  const certificate = await writeCertificate(folder);
  const port = options.port ?? (await findFreePort());
  const place = { ...options, folder, port, relays, certificate };
  const [command, env = {}] = program.configure(place);
  const { openFiles } = options;
  const child = startChild(command, { env, ...(openFiles && { openFiles }) });
  // The workers of nginx do not end with their master when that is killed.
  process.once('exit', () => child.kill());
  const baseUrl = `https://127.0.0.1:${port}`;
  const tls = { ca: readFileSync(certificate.certificateFile, 'utf8') };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, baseUrl), { redirect: 'manual', ...init, tls });
  const logs = () => program.readLogs(folder, child.output());
  async function stop(): Promise<void> {
    child.kill();
    await child.exited;
    // For the search at the end of `npm test`.
    const logFolder = process.env.RELAY_TEST_LOGS;
    const { access, error } = logs();
    if (logFolder)
      writeFileSync(join(logFolder, `${name}-${process.pid}-${port}.log`), access + error);
  }
  endWithFile(stop);
  await pollUntil(`${name} answers`, () => {
    if (!child.isRunning()) throw new Error(`${name} ended. Its output:\n${child.output()}`);
    return ask('/health').catch(() => undefined);
  });
  return {
    baseUrl,
    /** Its certificate, to trust. */
    ca: tls.ca,
    ask,
    stop,
    [Symbol.asyncDispose]: stop,
    /** All that it has written of requests. */
    accessLog: () => logs().access,
    /** Everything else that it has written. */
    errorLog: () => logs().error,
  };
}
