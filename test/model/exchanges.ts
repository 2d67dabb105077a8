/** Codes that users bring back, and what the provider answers for them. */
import { expect } from 'bun:test';
import type { Command } from './commands.ts';
import { LEASE_MS, type Model } from './model.ts';
import type { Polls } from './polls.ts';
import { comeBack, type Device } from './requests.ts';
import type { StoreFaults } from './store-faults.ts';
import { until, type World } from './worlds.ts';

/** Long before a relay gives up waiting for the provider, which would be at a moment that the model does not know. */
const PROVIDER_MS = 10_000;

interface Exchange {
  readonly device: Device;
  readonly relay: 0 | 1;
  readonly startedAtMs: number;
  /** It is answered once its lease has ended. */
  readonly outlivesLease: boolean;
  readonly reply: PromiseWithResolvers<Response>;
  readonly page: Promise<number>;
}

export class Exchanges {
  /** The provider's replies, by code; each code is sent once. */
  readonly #replies = new Map<string, PromiseWithResolvers<Response>>();
  #inProgress: Exchange[] = [];
  #codes = 0;
  #tokens = 0;

  constructor(
    readonly world: World,
    readonly model: Model,
    readonly faults: StoreFaults,
    readonly polls: Polls,
  ) {}

  /** The provider gets a code from a relay. */
  async receive(code: string): Promise<Response> {
    const reply = this.#replies.get(code);
    if (reply === undefined) throw new Error('a code that was not given, or was sent twice');
    this.#replies.delete(code);
    return reply.promise;
  }

  /** The user returns with a code, once or in two tabs: the page comes once the provider has answered. */
  async comeBack(device: Device, { relay, outlivesLease }: Command, times: 1 | 2): Promise<void> {
    const { world, model, faults } = this;
    const relays = [relay, relay === 0 ? 1 : 0] as const;
    const tabs = relays.slice(0, times).map((index) => {
      this.#codes += 1;
      const code = `code-${this.#codes}`;
      const reply = Promise.withResolvers<Response>();
      this.#replies.set(code, reply);
      const asking = comeBack(world.relays()[index], device, `code=${code}`);
      return { code, reply, relay: index, page: asking.then(({ status }) => status) };
    });
    const isSent = ({ code }: { code: string }) => !this.#replies.has(code);
    if (!faults.isDown && model.lease(device.model)) {
      await until(world, () => tabs.some(isSent));
      await world.settle();
      expect(tabs.filter(isSent).length).toBe(1);
      const startedAtMs = model.nowMs;
      const sent = tabs
        .filter(isSent)
        .map((tab) => ({ device, startedAtMs, outlivesLease, ...tab }));
      this.#inProgress.push(...sent);
    }
    const status = faults.isDown ? 503 : 404;
    for (const tab of tabs.filter((each) => !isSent(each))) {
      expect(await tab.page).toBe(status);
      // The provider was not asked.
      expect(this.#replies.delete(tab.code)).toBe(true);
    }
  }

  /** The provider answers the nth, unless it is one that must outlive its lease. */
  async answer(nth: number, how: 'grants' | 'refuses'): Promise<void> {
    const exchange = this.#inProgress[nth % this.#inProgress.length];
    if (exchange === undefined || this.#mustWait(exchange)) return;
    await this.#answer(exchange, how === 'grants' ? this.#newToken() : undefined);
  }

  async grantFor(device: Device): Promise<void> {
    const exchange = this.#inProgress.find((each) => each.device === device);
    if (exchange === undefined || this.#mustWait(exchange)) return;
    await this.#answer(exchange, this.#newToken());
  }

  /** All but those that outlive their lease. */
  async refuseAll(): Promise<void> {
    for (const exchange of [...this.#inProgress]) {
      if (!exchange.outlivesLease) await this.#answer(exchange, undefined);
    }
  }

  async grantAllTooLate(): Promise<void> {
    for (const exchange of [...this.#inProgress]) await this.#answer(exchange, 'too late');
  }

  /** When the provider next answers by itself, by a refusal. */
  nextMs(): number {
    const oldest = this.#oldest();
    return oldest ? oldest.startedAtMs + PROVIDER_MS : Number.POSITIVE_INFINITY;
  }

  async refuseOldest(): Promise<void> {
    const oldest = this.#oldest();
    if (oldest !== undefined) await this.#answer(oldest, undefined);
  }

  /** Those of a relay that is killed: their leases end by themselves. */
  forgetAt(killed: readonly (0 | 1)[]): void {
    this.#inProgress = this.#inProgress.filter(({ relay }) => !killed.includes(relay));
  }

  #oldest(): Exchange | undefined {
    return this.#inProgress.find(({ outlivesLease }) => !outlivesLease);
  }

  /** Undefined: the provider refuses. */
  async #answer(exchange: Exchange, token: string | undefined): Promise<void> {
    this.#inProgress = this.#inProgress.filter((each) => each !== exchange);
    const { device, reply, page } = exchange;
    const json = token === undefined ? { error: 'invalid_grant' } : { access_token: token };
    reply.resolve(Response.json(json, { status: token === undefined ? 400 : 200 }));
    const status = await page;
    if (this.faults.isDown) return expect(status).toBe(503);
    const result = token ?? 'exchange_failed';
    const answered = this.model.complete(device.model, result, 'exchanging');
    const isGood = answered !== undefined && token !== undefined;
    if (this.faults.hasLostReply) expect(status).toBe(503);
    else expect(status === 200).toBe(isGood);
    await this.polls.expectAnswered(answered);
  }

  #mustWait({ outlivesLease, startedAtMs }: Exchange): boolean {
    return outlivesLease && this.model.nowMs <= startedAtMs + LEASE_MS;
  }

  #newToken(): string {
    this.#tokens += 1;
    return `tokens-${this.#tokens}`;
  }
}
