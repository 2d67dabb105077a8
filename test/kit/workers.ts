/**
 * The relay on `workerd`, the runtime of Cloudflare Workers, with the configuration of
 * deploy/cloudflare, and in front of it what Cloudflare's edge does: it says who the client is.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import workerd from 'workerd';
import { buildWorker } from '../../scripts/build.ts';
import { newFolder } from './folder.ts';
import { forwardedFor, startForwarder } from './forwarder.ts';
import { findFreePort } from './process.ts';
import { launchRelay, ROOT, untilHealthy } from './relay.ts';

type Env = Readonly<Record<string, string>>;

interface WorkersOptions {
  readonly port?: number;
  /** Source of the Worker. Not given: that of the relay. */
  readonly entry?: string;
  /** A Worker that is built, in place of a source. */
  readonly file?: string;
  /** Where the objects keep their SQLite. Not given: a folder that is removed at the end. */
  readonly storage?: string;
}

/** What wrangler reads. */
export function readWranglerConfig() {
  const text = readFileSync(`${ROOT}deploy/cloudflare/wrangler.jsonc`, 'utf8');
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, '')) as {
    readonly main: string;
    readonly compatibility_date: string;
    readonly compatibility_flags: readonly string[];
    readonly durable_objects: { readonly bindings: readonly { readonly class_name: string }[] };
    readonly observability: unknown;
  };
}

const built = new Map<string, Promise<string>>();

/** The text of the Worker, built once. */
export function buildOnce(entry = 'src/workers/worker.ts'): Promise<string> {
  const text = built.get(entry) ?? build(entry);
  built.set(entry, text);
  return text;
}

async function build(entry: string): Promise<string> {
  const file = join(newFolder(), 'worker.js');
  await buildWorker(file, entry);
  return readFileSync(file, 'utf8');
}

/** Resolves once it answers. What `env` does not say is as in production, plus one provider and the debug log. */
export async function startWorkers(env: Env = {}, options: WorkersOptions = {}) {
  const folder = newFolder();
  const port = options.port ?? (await findFreePort());
  const baseUrl = `http://127.0.0.1:${port}`;
  const text = options.file ? readFileSync(options.file) : await buildOnce(options.entry);
  writeFileSync(join(folder, 'worker.js'), text);
  const variables = {
    OAUTH_BASE_URL: baseUrl,
    LOG_LEVEL: 'debug',
    MAL_CLIENT_ID: 'mal-client',
    ...env,
  };
  const config = join(folder, 'config.capnp');
  writeFileSync(config, describe(variables, { folder, storage: options.storage ?? folder }));
  const relay = await launchRelay({}, { port, command: [workerd, 'serve', config] });
  const edge = await startEdge(join(folder, 'socket'), port);
  await untilHealthy(baseUrl);
  /** Ends the runtime at once, as a crash would. */
  const kill = async () => void (await relay.stop('SIGKILL'));
  return {
    ...relay,
    kill,
    async [Symbol.asyncDispose]() {
      await edge[Symbol.asyncDispose]();
      await kill();
    },
  };
}

/** https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp */
function describe(env: Env, { folder, storage }: { folder: string; storage: string }): string {
  const { compatibility_date, compatibility_flags, durable_objects } = readWranglerConfig();
  const [{ class_name: className = '' } = {}] = durable_objects.bindings;
  const text = JSON.stringify;
  const bindings = Object.entries(env).map(
    ([name, value]) => `( name = ${text(name)}, text = ${text(value)} )`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ( name = "relay", worker = .relay ),
    ( name = "storage", disk = ( path = ${text(storage)}, writable = true ) ),
    ( name = "internet", network = ( allow = ["public", "private"] ) ),
  ],
  sockets = [ ( name = "http", address = ${text(`unix:${join(folder, 'socket')}`)}, http = (), service = "relay" ) ],
);
const relay :Workerd.Worker = (
  modules = [ ( name = "worker.js", esModule = embed "worker.js" ) ],
  compatibilityDate = ${text(compatibility_date)},
  compatibilityFlags = ${text(compatibility_flags)},
  durableObjectNamespaces = [ ( className = ${text(className)}, uniqueKey = "relay", enableSql = true ) ],
  durableObjectStorage = ( localDisk = "storage" ),
  bindings = [ ( name = "RELAY", durableObjectNamespace = ${text(className)} ), ${bindings.join(', ')} ],
);
`;
}

/**
 * Sets the client's address, whatever the client claims. At a Unix socket, because at a TCP
 * socket workerd notices only a reset, not the end of a connection.
 */
function startEdge(socketPath: string, port: number): Promise<AsyncDisposable> {
  return startForwarder(port, (request) => ({
    socketPath,
    headers: {
      ...request.headers,
      'cf-connecting-ip': request.socket.remoteAddress ?? '',
      'x-forwarded-for': forwardedFor(request),
    },
  }));
}
