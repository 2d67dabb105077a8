/** An app: a program in a folder and a process of its own, as whoever copies it from the document has it. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plantSecret } from '../../support/secrets.ts';

const NODE_MODULES = join(import.meta.dir, '../../../node_modules');

export interface Program {
  readonly file: string;
  readonly source: string;
  /** What runs it: the file's name follows. */
  readonly interpreter: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly id_token?: string;
}

export interface Running {
  /** The short link that the program prints. Rejects when it ends without one. */
  readonly link: Promise<string>;
  readonly ended: Promise<{ readonly exitCode: number; readonly output: string }>;
}

/** Disposing of it ends what still runs. */
export interface App extends Disposable {
  run(): Running;
  /** What it keeps. */
  readTokens(): Tokens;
}

export function createApp({ file, source, interpreter }: Program, args: readonly string[]): App {
  const folder = mkdtempSync(join(tmpdir(), 'sign-in-relay-client-'));
  writeFileSync(join(folder, file), source);
  symlinkSync(NODE_MODULES, join(folder, 'node_modules'));
  const over = new AbortController();
  function dispose(): void {
    process.off('exit', dispose);
    over.abort();
    rmSync(folder, { recursive: true });
  }
  // For a test that has timed out.
  process.once('exit', dispose);
  return {
    run: () => run([interpreter, file, ...args], folder, over.signal),
    readTokens() {
      const tokens = JSON.parse(readFileSync(join(folder, 'tokens.json'), 'utf8')) as Tokens;
      plantSecret(tokens.access_token);
      plantSecret(tokens.refresh_token ?? '');
      plantSecret(tokens.id_token ?? '');
      return tokens;
    },
    [Symbol.dispose]: dispose,
  };
}

function run(command: string[], folder: string, signal: AbortSignal): Running {
  const child = Bun.spawn(command, {
    cwd: folder,
    signal,
    env: { PATH: process.env.PATH ?? '', OAUTHLIB_INSECURE_TRANSPORT: '1' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const link = Promise.withResolvers<string>();
  // A program that refreshes prints none, and nobody asks for it.
  link.promise.catch(() => {});
  const errors = new Response(child.stderr).text();
  async function end() {
    let output = '';
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += part;
      const [, found] = /(http\S+\/L\/\S+)\n/.exec(output) ?? [];
      if (found !== undefined) link.resolve(found);
    }
    output += await errors;
    link.reject(new Error(`no link, but:\n${output}`));
    return { exitCode: await child.exited, output };
  }
  return { link: link.promise, ended: end() };
}
