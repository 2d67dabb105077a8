/** Listens as the relay does, and can close and listen again. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Listener, ListenOptions, Runtime } from '../../server/runtime.ts';

/** Responses in progress get this long to finish, then they are cut off. */
const CLOSE_MS = 300;

export class DevListener {
  readonly #runtime: Runtime;
  readonly #options: ListenOptions;
  #running: Listener | undefined;

  constructor(runtime: Runtime, options: ListenOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  async open(): Promise<void> {
    this.#running = await this.#runtime.listen(this.#options);
  }

  async close(): Promise<void> {
    const closing = this.#running;
    this.#running = undefined;
    await Promise.race([closing?.stop(), pause(CLOSE_MS)]);
    closing?.cut();
  }
}
