/** The relay with requests that make its object fail. */
import type { DurableObjectState } from 'cloudflare:workers';
import { type Env, RelayObject as Relay } from '../../src/workers/relay-object.ts';

export { default } from '../../src/workers/worker.ts';

/** What the tests use of the object besides. */
interface Aborting extends DurableObjectState {
  abort(reason: string): void;
}

export class RelayObject extends Relay {
  readonly #state: DurableObjectState;
  readonly #storage: DurableObjectState['storage'];
  readonly #faults: { isFull: boolean };

  constructor(ctx: DurableObjectState, env: Env) {
    const faults = { isFull: false };
    const { storage } = ctx;
    super(withFaults(ctx, faults), env);
    this.#state = ctx;
    this.#storage = storage;
    this.#faults = faults;
  }

  override async fetch(request: Request): Promise<Response> {
    const storage = this.#storage;
    switch (new URL(request.url).pathname) {
      case '/test/abort':
        (this.#state as Aborting).abort('a test');
        break;
      case '/test/fill':
        this.#faults.isFull = true;
        break;
      case '/test/empty':
        this.#faults.isFull = false;
        break;
      case '/test/sweep':
        await this.alarm();
        break;
      case '/test/state': {
        const rows = [...storage.sql.exec('SELECT name FROM kept')].map(({ name }) => name);
        return Response.json({ rows, alarmAtMs: await storage.getAlarm() });
      }
      default:
        return super.fetch(request);
    }
    return new Response('done');
  }
}

/** The storage refuses every statement while it is full. */
function withFaults(ctx: DurableObjectState, faults: { readonly isFull: boolean }) {
  const { storage } = ctx;
  const { sql } = storage;
  const failing = {
    exec: (...asked: Parameters<typeof sql.exec>) => {
      if (faults.isFull) throw new Error('database or disk is full: SQLITE_FULL');
      return sql.exec(...asked);
    },
  };
  const faultyStorage = {
    sql: failing,
    getAlarm: () => storage.getAlarm(),
    setAlarm: (atMs: number) => storage.setAlarm(atMs),
  };
  // The runtime accepts only its own state.
  return Object.defineProperty(ctx, 'storage', { value: faultyStorage });
}
