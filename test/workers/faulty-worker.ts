/** The relay with requests that make its object fail. */
import type { DurableObjectState } from 'cloudflare:workers';
import { type Env, RelayObject as Relay } from '../../src/workers/relay-object.ts';

export { default } from '../../src/workers/worker.ts';

/** What the tests use of the object besides. */
interface Tested extends DurableObjectState {
  abort(reason: string): void;
  readonly storage: DurableObjectState['storage'] & { deleteAlarm(): Promise<void> };
}

/** While it is, the storage refuses every statement. */
let isFull = false;

export class RelayObject extends Relay {
  constructor(ctx: DurableObjectState, env: Env) {
    const { sql } = ctx.storage;
    const exec = (...asked: Parameters<typeof sql.exec>) => {
      if (isFull) throw new Error('database or disk is full: SQLITE_FULL');
      return sql.exec(...asked);
    };
    Object.defineProperty(ctx.storage, 'sql', { value: { exec } });
    super(ctx, env);
  }

  override async fetch(request: Request): Promise<Response> {
    const tested = this.ctx as Tested;
    const { storage } = tested;
    switch (new URL(request.url).pathname) {
      case '/test/abort':
        tested.abort('a test');
        break;
      case '/test/fill':
        isFull = true;
        break;
      case '/test/empty':
        isFull = false;
        break;
      case '/test/sweep':
        // An alarm that runs is no longer set.
        await storage.deleteAlarm();
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
