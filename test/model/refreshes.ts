/**
 * Refreshes and revocations as a model: whatever happens, a refresh token is with the provider
 * once at a time, its result is for everybody who asks within 30 s, and every request ends
 * (docs/extensions.md). Which relay sends it, and when, is the relay's choice.
 */
import { expect } from 'bun:test';
import type { TestService } from '../kit/service.ts';
import { LEASE_MS, REFRESH_KEPT_MS } from './model.ts';

/** Requests that begin within a quarter of a second share a timer. */
const PROVIDER_TIMEOUT_MS = 15_250;
/** How often a relay checks whether another one has finished. */
const CHECK_MS = 100;
const TOKENS = 3;

/** What a refresh grants or refuses is final: a repeat could be answered otherwise, so everybody gets this. */
export type Reply = 'grants' | 'refuses' | 'fails';

interface Asked {
  readonly token: string;
  readonly relay: number;
  readonly atMs: number;
  readonly isStoreDown: boolean;
  answer?: string;
}

interface Sent {
  readonly token: string;
  readonly relay: number;
  readonly atMs: number;
  readonly isRevocation: boolean;
  readonly reply: PromiseWithResolvers<Response>;
}

/** What the provider said of a token, and when. Undefined: nothing that is final. */
interface Said {
  readonly token: string;
  readonly atMs: number;
  readonly result: string | undefined;
  /** When a relay that waits could notice it: the timers of one step run before what they cause. */
  noticedAtMs?: number;
}

export class Refreshes {
  #asked: Asked[] = [];
  readonly #sent = new Set<Sent>();
  #said: Said[] = [];
  /** Until when nobody else may send a token: its turn was not given back. */
  readonly #heldUntilMs = new Map<string, number>();
  /** Until when nobody may send a token, as its result is kept. */
  readonly #keptUntilMs = new Map<string, number>();
  readonly #problems: string[] = [];
  /** Those whose relay has the provider's answer, and must keep it or give its turn back. */
  #unfinished = 0;
  #number = 0;

  constructor(
    readonly now: () => number,
    readonly isStoreDown: () => boolean,
  ) {}

  refresh(service: TestService, relay: number, nth: number): void {
    const refreshToken = `refresh-${nth % TOKENS}`;
    this.#ask(service, relay, refreshToken, '/refresh', { service: 'mal', refreshToken });
  }

  /** Each revocation is for a token of its own, as nothing is shared between them. */
  revoke(service: TestService, relay: number): void {
    this.#number += 1;
    const refreshToken = `revoked-${this.#number}`;
    this.#ask(service, relay, refreshToken, '/revoke', { service: 'anilist', refreshToken });
  }

  #ask(service: TestService, relay: number, token: string, path: string, body: object): void {
    const isStoreDown = this.isStoreDown();
    const asked: Asked = { token, relay, atMs: this.now(), isStoreDown };
    this.#asked.push(asked);
    service.ask(path, { method: 'POST', body: JSON.stringify(body) }).then(async (response) => {
      const text = await response.text();
      const { accessToken, error } = response.status === 503 ? {} : JSON.parse(text);
      asked.answer = `${response.status} ${accessToken ?? error ?? ''}`.trim();
    });
  }

  /** The provider gets a request of a relay. */
  receive(relay: number, form: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const isRevocation = form.has('token');
    const token = form.get('refresh_token') ?? form.get('token') ?? '';
    const atMs = this.now();
    if ([...this.#sent].some((sent) => sent.token === token)) {
      this.#problems.push(`${token} was sent twice at once`);
    }
    if ((this.#heldUntilMs.get(token) ?? 0) >= atMs) {
      this.#problems.push(`${token} was sent while another relay may have sent it`);
    }
    if ((this.#keptUntilMs.get(token) ?? 0) >= atMs) {
      this.#problems.push(`${token} was sent again, although its result is known`);
    }
    const reply = Promise.withResolvers<Response>();
    const sent: Sent = { token, relay, atMs, isRevocation, reply };
    this.#sent.add(sent);
    signal.addEventListener('abort', () => {
      if (!this.#sent.has(sent)) return;
      this.#conclude(sent, undefined);
      reply.reject(signal.reason);
    });
    return reply.promise;
  }

  /** The provider answers the nth of the requests that it has. */
  answer(nth: number, how: Reply): void {
    const sent = [...this.#sent][nth % Math.max(1, this.#sent.size)];
    if (sent === undefined) return;
    this.#number += 1;
    const accessToken = `access-${this.#number}`;
    if (how === 'fails' || (how === 'refuses' && sent.isRevocation)) {
      this.#conclude(sent, undefined);
      sent.reply.resolve(new Response('', { status: 500 }));
    } else if (sent.isRevocation) {
      this.#conclude(sent, '200');
      sent.reply.resolve(new Response(''));
    } else if (how === 'refuses') {
      this.#conclude(sent, '400 invalid_grant');
      sent.reply.resolve(Response.json({ error: 'invalid_grant' }, { status: 400 }));
    } else {
      this.#conclude(sent, `200 ${accessToken}`);
      const refresh_token = `rotated-${this.#number}`;
      sent.reply.resolve(Response.json({ access_token: accessToken, refresh_token }));
    }
  }

  #conclude(sent: Sent, result: string | undefined): void {
    const { token, atMs } = sent;
    this.#sent.delete(sent);
    this.#said.push({ token, atMs: this.now(), result });
    if (sent.isRevocation) return;
    // With nothing to keep, a relay that was suspended for longer leaves the turn to others.
    if (result !== undefined || this.now() <= atMs + LEASE_MS) this.#unfinished += 1;
    // A relay that cannot say that it has finished keeps its turn until that ends by itself.
    if (this.isStoreDown()) this.#heldUntilMs.set(token, atMs + LEASE_MS);
    else if (result !== undefined) this.#keptUntilMs.set(token, this.now() + REFRESH_KEPT_MS);
  }

  /** A relay was killed. Its store forgets too, or not. */
  restarted(relay: number, { storeSurvives }: { storeSurvives: boolean }): void {
    this.#asked = this.#asked.filter((asked) => asked.relay !== relay);
    for (const sent of this.#sent) {
      if (sent.relay !== relay) continue;
      this.#sent.delete(sent);
      if (!sent.isRevocation) this.#heldUntilMs.set(sent.token, sent.atMs + LEASE_MS);
    }
    if (storeSurvives) return;
    this.#heldUntilMs.clear();
    this.#keptUntilMs.clear();
  }

  /** When a relay next gives up waiting for the provider. */
  nextMs(): number {
    const ends = [...this.#sent].map(({ atMs }) => atMs + PROVIDER_TIMEOUT_MS);
    return Math.min(Number.POSITIVE_INFINITY, ...ends);
  }

  finished(): void {
    this.#unfinished -= 1;
  }

  get areFinished(): boolean {
    return this.#unfinished === 0;
  }

  get isIdle(): boolean {
    return this.#asked.length === 0 && this.#sent.size === 0;
  }

  /** Whether all that must be answered by now is answered; after `settle`. */
  get isAnswered(): boolean {
    return this.#asked.every((asked) => asked.answer !== undefined || this.#mayWait(asked));
  }

  check(): void {
    expect(this.#problems).toEqual([]);
    expect(this.#unfinished, 'turns that are not given back').toBe(0);
    for (const { atMs } of this.#sent) {
      expect(this.now() - atMs, 'a request to the provider has no end').toBeLessThan(
        PROVIDER_TIMEOUT_MS,
      );
    }
    const unanswered = this.#asked.filter((asked) => asked.answer === undefined);
    expect(unanswered.filter((asked) => !this.#mayWait(asked))).toEqual([]);
    const wrong = this.#asked.filter(
      (asked) => asked.answer !== undefined && !this.#isRight(asked),
    );
    expect(wrong).toEqual([]);
    this.#asked = unanswered;
    for (const said of this.#said) said.noticedAtMs ??= this.now();
    const oldestMs = Math.min(
      this.now() - REFRESH_KEPT_MS,
      ...unanswered.map(({ atMs }) => atMs - REFRESH_KEPT_MS),
    );
    this.#said = this.#said.filter(({ atMs }) => atMs >= oldestMs);
  }

  /** Its token is with the provider, or a relay that waits for another one checks again soon. */
  #mayWait({ token }: Asked): boolean {
    const nowMs = this.now();
    const isSent = [...this.#sent].some((sent) => sent.token === token);
    const isHeld = nowMs <= (this.#heldUntilMs.get(token) ?? 0) + CHECK_MS;
    const isJustSaid = this.#said.some(
      (said) => said.token === token && nowMs <= (said.noticedAtMs ?? nowMs) + CHECK_MS,
    );
    return isSent || isHeld || isJustSaid;
  }

  #isRight({ token, relay, atMs, isStoreDown, answer }: Asked): boolean {
    const said = this.#said.filter((each) => each.token === token);
    if (answer !== '503') {
      return said.some((each) => each.result === answer && each.atMs + REFRESH_KEPT_MS >= atMs);
    }
    const hasFailed = said.some((each) => each.result === undefined && each.atMs >= atMs);
    // A relay stops waiting for another one, with all who wait at it for the same token.
    const first = Math.min(
      ...this.#asked
        .filter((each) => each.token === token && each.relay === relay)
        .map((each) => each.atMs),
    );
    return isStoreDown || hasFailed || this.now() > first + LEASE_MS + CHECK_MS;
  }
}
