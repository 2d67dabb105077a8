/** Runs the store suite in a Durable Object, on its own SQLite. */
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../src/workers/relay-object.ts';
import { runTests } from '../kit/bun-test-in-workerd.ts';
import { openDurable } from '../kit/stores.ts';
import { runStoreSuite } from './suite.ts';

export class RelayObject extends DurableObject<Env> {
  async fetch(): Promise<Response> {
    const { sql } = this.ctx.storage;
    runStoreSuite('a Durable Object', async (options) => {
      sql.exec('DROP TABLE IF EXISTS kept');
      return openDurable(sql, options);
    });
    return Response.json(await runTests());
  }
}

export default {
  async fetch(request: Request, { RELAY }: Env): Promise<Response> {
    if (request.url.endsWith('/health')) return new Response('ok');
    return RELAY.get(RELAY.idFromName('suite')).fetch(request);
  },
};
