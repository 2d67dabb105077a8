/** HOST=unix:, TLS_CERT_FILE and TLS_KEY_FILE, on Bun and on Node: processes, sockets and certificates, all real. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { start, startRequest, type Target } from '../kit/device.ts';
import { startChild } from '../kit/process.ts';
import { startTokenEndpoint, tokensFor } from '../kit/provider.ts';
import { buildForNode, launchRelay, type RelayProcess, RUNTIMES, runRelay } from '../kit/relay.ts';
import { makeSelfSigned } from '../kit/tls.ts';
import { bringCode, makeCode } from '../kit/user.ts';
import { pollUntil } from '../kit/wait.ts';

setDefaultTimeout(60_000);
await buildForNode();

const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-listen-'));
const relays: RelayProcess[] = [];
const provider = startTokenEndpoint();
afterAll(async () => {
  for (const relay of relays) await relay.stop('SIGKILL');
  provider.stop();
  rmSync(folder, { recursive: true });
});

let files = 0;
function newPath(): string {
  files += 1;
  return join(folder, String(files));
}

/** Listens on it, as a system log does. */
const DATAGRAM_SOCKET = `
import socket, sys, time
datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
datagrams.bind(sys.argv[1])
time.sleep(60)`;

describe.each(RUNTIMES)('on %s', (_, command) => {
  async function startRelay(env: Record<string, string>): Promise<RelayProcess> {
    const relay = await launchRelay({ MAL_TOKEN_URL: provider.tokenUrl, ...env }, { command });
    relays.push(relay);
    await relay.waitForEvent('listening');
    return relay;
  }

  describe('at a Unix socket', () => {
    const socketPath = newPath();
    let relay: RelayProcess & Target;
    beforeAll(async () => {
      const started = await startRelay({ HOST: `unix:${socketPath}` });
      relay = { ...started, ask: (path, init) => askSocket(socketPath, path, init) };
    });

    test('a sign-in succeeds, and the log names the socket', async () => {
      const { session, state } = await start(relay);
      const polled = relay.ask(`/auth/result?session=${session}`);
      const code = makeCode();
      expect((await bringCode(relay, state, code)).status).toBe(200);
      expect(await (await polled).json()).toMatchObject(tokensFor(code));
      expect(relay.events('listening')).toMatchObject([{ url: `unix:${socketPath}` }]);
    });

    test('every client of the socket is trusted as a proxy: each address that it forwards has a rate limit', async () => {
      const statusFor = async (client: string) => {
        const headers = { 'X-Forwarded-For': client };
        return (await relay.ask('/auth/start', { ...startRequest(), headers })).status;
      };
      const statuses = [];
      for (let count = 0; count < 5; count += 1) statuses.push(await statusFor('192.0.2.1'));
      expect(statuses.at(-1)).toBe(429);
      expect(await statusFor('192.0.2.2')).toBe(200);
      expect(relay.events('forwarded_header_ignored')).toEqual([]);
    });

    test('`health` asks there', async () => {
      const env = { HOST: `unix:${socketPath}` };
      const asked = await runRelay(env, { command: [...command, 'health'] });
      expect(asked).toEqual({ exitCode: 0, output: 'ok\n' });
    });

    test('a second relay does not start, and leaves the first one alone', async () => {
      const env = { OAUTH_BASE_URL: 'http://127.0.0.1:1', HOST: `unix:${socketPath}` };
      const { exitCode, output } = await runRelay(env, { command });
      const sentence = `HOST is unix:${socketPath}: another program listens there already`;
      expect([exitCode, output]).toEqual([1, expect.stringContaining(sentence)]);
      expect((await relay.ask('/health')).status).toBe(200);
    });

    test('the socket of a relay that was killed is no obstacle', async () => {
      await relay.stop('SIGKILL');
      expect(existsSync(socketPath)).toBe(true);
      const next = await startRelay({ HOST: `unix:${socketPath}` });
      expect((await askSocket(socketPath, '/health')).status).toBe(200);
      expect(await next.stop()).toBe(0);
      expect(existsSync(socketPath)).toBe(false);
    });

    test('a relay whose socket was replaced removes only its own', async () => {
      const path = newPath();
      const [first] = [await startRelay({ HOST: `unix:${path}` }), unlinkSync(path)];
      const second = await startRelay({ HOST: `unix:${path}` });
      expect(await first.stop()).toBe(0);
      expect((await askSocket(path, '/health')).status).toBe(200);
      expect(await second.stop()).toBe(0);
      expect(existsSync(path)).toBe(false);
    });

    test('of relays that start at once where one was killed, one listens and the others say so', async () => {
      const path = newPath();
      const killed = await startRelay({ HOST: `unix:${path}` });
      await killed.stop('SIGKILL');
      const started = await Promise.all(
        Array.from({ length: 5 }, () => launchRelay({ HOST: `unix:${path}` }, { command })),
      );
      relays.push(...started);
      const outcomes = await Promise.all(
        started.map((each) =>
          each.waitForEvent('listening').then(
            () => each,
            () => each.output(),
          ),
        ),
      );
      const listening = outcomes.filter((each) => typeof each !== 'string');
      expect(listening).toHaveLength(1);
      for (const output of outcomes.filter((each) => typeof each === 'string')) {
        expect(output).toContain(`HOST is unix:${path}: another program listens there already`);
      }
      expect((await askSocket(path, '/health')).status).toBe(200);
      await listening[0]?.stop();
      expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
    });
  });

  describe('where something else is at the path of the socket, it stays, and the relay says what it is', () => {
    const keep = (path: string, create: (path: string) => unknown) => {
      create(path);
      return path;
    };
    const file = keep(newPath(), (path) => writeFileSync(path, 'a precious file'));

    test.each<[string, string, string]>([
      ['a file', file, 'a file is there, and the relay replaces only a socket'],
      ['a folder', keep(newPath(), mkdirSync), 'a folder is there'],
      [
        'a link to a file',
        keep(newPath(), (path) => symlinkSync(file, path)),
        'a symbolic link is',
      ],
      [
        'a link to nothing',
        keep(newPath(), (path) => symlinkSync('/-', path)),
        'a symbolic link is',
      ],
      ['no folder', join(folder, 'none/s'), `the folder ${folder}/none does not exist`],
      ['a file for a folder', `${file}/s`, `the folder ${file} does not exist`],
      ['a folder that takes no sockets', '/proc/relay.sock', 'no socket can be created there ('],
    ])('%s', async (_, path, sentence) => {
      const before = readdirSync(folder);
      const env = { OAUTH_BASE_URL: 'http://127.0.0.1:1', HOST: `unix:${path}` };
      const { exitCode, output } = await runRelay(env, { command });
      expect([exitCode, output]).toEqual([1, expect.stringContaining(`HOST is unix:${path}: `)]);
      expect(output).toContain(sentence);
      expect(readdirSync(folder)).toEqual(before);
      expect(readFileSync(file, 'utf8')).toBe('a precious file');
    });

    test('a socket of datagrams', async () => {
      const path = newPath();
      const owner = startChild(['python3', '-c', DATAGRAM_SOCKET, path]);
      await pollUntil('the socket is there', async () => existsSync(path));
      const env = { OAUTH_BASE_URL: 'http://127.0.0.1:1', HOST: `unix:${path}` };
      const { output } = await runRelay(env, { command });
      expect(output).toContain('a socket is there that the relay cannot connect to (EPROTOTYPE)');
      expect(existsSync(path)).toBe(true);
      owner.kill();
    });
  });

  describe('with a certificate', () => {
    const [certFile, keyFile] = [newPath(), newPath()];
    const env = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
    let relay: RelayProcess;
    beforeAll(async () => {
      await install();
      relay = await startRelay(env);
    });

    /** As certbot does: each file is replaced by another one. `before`: what is written before each text. */
    async function install(before = ''): Promise<string> {
      const { cert, key } = await makeSelfSigned();
      for (const [file, text] of [
        [keyFile, before + key],
        [certFile, before + cert],
      ] as const) {
        writeFileSync(`${file}.new`, text);
        renameSync(`${file}.new`, file);
      }
      return cert;
    }

    const shownCertificate = () => readShownCertificate({ host: '127.0.0.1', port: relay.port });

    test('it speaks HTTPS, and says so in the log', async () => {
      expect((await askTls(relay.port, '/health')).status).toBe(200);
      expect(relay.events('listening')).toMatchObject([{ url: `https://127.0.0.1:${relay.port}` }]);
    });

    test('`health` asks over TLS, whatever name the certificate has', async () => {
      const asked = await runRelay(
        { HOST: '127.0.0.1', PORT: `${relay.port}`, ...env },
        { command: [...command, 'health'] },
      );
      expect(asked).toEqual({ exitCode: 0, output: 'ok\n' });
    });

    test('a second relay does not share its port', async () => {
      const second = { OAUTH_BASE_URL: relay.baseUrl, HOST: '127.0.0.1', PORT: `${relay.port}` };
      const { exitCode, output } = await runRelay({ ...second, ...env }, { command });
      expect([exitCode, output]).toEqual([1, expect.stringContaining(`PORT is ${relay.port}`)]);
    });

    const sendHangUp = () => process.kill(relay.pid, 'SIGHUP');
    test.each([
      ['by themselves', () => {}, ''],
      ['at SIGHUP', sendHangUp, ''],
      ['with a byte order mark before them', sendHangUp, '\uFEFF'],
    ])('changed files are taken up %s, and no poll is dropped', async (_, notify, before) => {
      const tlsRelay = {
        ask: (path: string, init?: RequestInit) => askTls(relay.port, path, init),
      };
      const { session, state } = await start(tlsRelay);
      const parked = relay.events('poll_waiting').length;
      const polled = askTls(relay.port, `/auth/result?session=${session}`);
      await relay.untilParked(parked + 1);
      const shown = (await shownCertificate()).fingerprint256;
      const renewals = relay.events('certificate_renewed').length;
      await install(before);
      notify();
      await relay.waitForEvents('certificate_renewed', renewals + 1);
      expect((await shownCertificate()).fingerprint256).not.toBe(shown);
      const code = makeCode();
      expect((await bringCode(tlsRelay, state, code)).status).toBe(200);
      expect(await (await polled).json()).toMatchObject(tokensFor(code));
    });

    test('a certificate without its key is not taken up', async () => {
      const before = (await shownCertificate()).fingerprint256;
      const saved = newPath();
      copyFileSync(certFile, saved);
      writeFileSync(certFile, (await makeSelfSigned()).cert);
      process.kill(relay.pid, 'SIGHUP');
      const { problem } = await relay.waitForEvent('certificate_unusable');
      expect(problem).toContain('TLS_KEY_FILE must hold the key of TLS_CERT_FILE');
      expect((await shownCertificate()).fingerprint256).toBe(before);
      copyFileSync(saved, certFile);
    });

    test('changed files are taken up at a Unix socket too', async () => {
      const path = newPath();
      const own = await startRelay({ ...env, HOST: `unix:${path}` });
      const before = (await readShownCertificate({ path })).fingerprint256;
      await install();
      process.kill(own.pid, 'SIGHUP');
      await own.waitForEvent('certificate_renewed');
      expect((await readShownCertificate({ path })).fingerprint256).not.toBe(before);
      expect(await own.stop()).toBe(0);
      expect(existsSync(path)).toBe(false);
    });

    test('SIGTERM ends it, also after renewals', async () => {
      expect(await relay.stop()).toBe(0);
    });

    // A file may be replaced at this moment, so a supervisor tries again.
    test.each<[string, Record<string, string>, string, number?]>([
      ['a file that is not there', { TLS_CERT_FILE: '/nowhere.pem' }, 'TLS_CERT_FILE must name'],
      [
        'a file that is no certificate',
        { TLS_CERT_FILE: keyFile },
        'TLS_CERT_FILE must name a PEM',
      ],
      ['a certificate alone', { TLS_KEY_FILE: '' }, 'TLS_KEY_FILE (not set): must be set', 78],
    ])('it does not start because of %s, and says so', async (_, wrong, problem, code = 1) => {
      const base = { OAUTH_BASE_URL: 'https://127.0.0.1', HOST: '127.0.0.1', PORT: '0' };
      const { exitCode, output } = await runRelay({ ...base, ...env, ...wrong }, { command });
      expect([exitCode, output]).toEqual([code, expect.stringContaining(problem)]);
    });
  });
});

describe.each(RUNTIMES)(
  'a folder that the user of the relay may not enter, on %s',
  (_, command) => {
    const closed = newPath();
    const inside = join(closed, 'inside');
    const isRoot = process.getuid?.() === 0;
    const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'];
    const asUser = isRoot ? [...nobody, ...command] : command;
    beforeAll(() => {
      chmodSync(folder, 0o755);
      mkdirSync(inside, { recursive: true });
      // Root may enter any.
      chmodSync(closed, isRoot ? 0o700 : 0o000);
    });
    afterAll(() => chmodSync(closed, 0o700));

    test.each([
      [
        'a certificate there is named, not a low port',
        { TLS_CERT_FILE: inside, TLS_KEY_FILE: inside },
        'TLS_CERT_FILE must name a file that can be read (EACCES)',
      ],
      [
        'a socket there is named, not a low port',
        { HOST: `unix:${closed}/relay.sock` },
        `HOST is unix:${closed}/relay.sock: no socket can be created there (EACCES)`,
      ],
      [
        'a socket below a folder there is named, not a low port',
        { HOST: `unix:${inside}/relay.sock` },
        `HOST is unix:${inside}/relay.sock: no socket can be created there (EACCES)`,
      ],
    ])('%s', async (_, env, problem) => {
      const base = { OAUTH_BASE_URL: 'https://127.0.0.1', HOST: '127.0.0.1', PORT: '0' };
      const { exitCode, output } = await runRelay({ ...base, ...env }, { command: asUser });
      expect([exitCode, output]).toEqual([1, expect.stringContaining(problem)]);
    });

    test('while the relay runs: the old certificate stays', async () => {
      const [opened, file] = [newPath(), 'both.pem'];
      mkdirSync(opened);
      const { cert, key } = await makeSelfSigned();
      writeFileSync(join(opened, file), `${cert}\n${key}\n`);
      const env = { TLS_CERT_FILE: join(opened, file), TLS_KEY_FILE: join(opened, file) };
      const relay = await launchRelay(env, { command: asUser });
      relays.push(relay);
      await relay.waitForEvent('listening');
      chmodSync(opened, isRoot ? 0o700 : 0o000);
      process.kill(relay.pid, 'SIGHUP');
      const { problem } = await relay.waitForEvent('certificate_unusable');
      expect(problem).toBe('TLS_CERT_FILE must name a file that can be read (EACCES)');
      expect((await askTls(relay.port, '/health')).status).toBe(200);
      expect(await relay.stop()).toBe(0);
      chmodSync(opened, 0o700);
    });
  },
);

const askSocket = (unix: string, path: string, init: RequestInit = {}) =>
  fetch(`http://relay.test${path}`, { unix, keepalive: false, ...init });

function askTls(port: number, path: string, init: RequestInit = {}): Promise<Response> {
  const untrusted = { tls: { rejectUnauthorized: false }, keepalive: false };
  return fetch(`https://127.0.0.1:${port}${path}`, { ...untrusted, ...init });
}

function readShownCertificate(
  at: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...at, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate());
      socket.end();
    });
    socket.once('error', reject);
  });
}
