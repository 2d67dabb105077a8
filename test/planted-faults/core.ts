/** Faults of the session machine, of polls, and of what is shared by all stores. */
import type { Fault } from './faults.ts';

const SESSION = 'src/relay/session.ts';
const POLLS = 'src/relay/polls.ts';
const RELAY = 'src/relay/relay.ts';
const REFRESH = 'src/relay/refresh.ts';

export const CORE_FAULTS: readonly Fault[] = [
  {
    name: 'a session is not alive in its last millisecond',
    file: SESSION,
    before: 'return nowMs > session.expiresAtMs;',
    after: 'return nowMs >= session.expiresAtMs;',
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'a delivered result is repeated until the session expires',
    file: SESSION,
    before: "state: 'delivered', expiresAtMs: nowMs + session.repeatMs",
    after: "state: 'delivered', expiresAtMs: session.expiresAtMs",
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'cancelling takes a delivered result back',
    file: SESSION,
    before: "if (current.state === 'delivered') return 'already_completed';",
    after: '',
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'the verifier stays after the code has come back',
    file: SESSION,
    before: "return { ...commonOf(pending), state: 'exchanging',",
    after: "return { ...pending, state: 'exchanging',",
    tests: ['test/relay/session.test.ts'],
  },
  {
    name: 'a lease never runs out',
    file: SESSION,
    before: "session.state === 'exchanging' && nowMs > session.leaseEndsAtMs",
    after: "session.state === 'exchanging' && nowMs > session.expiresAtMs",
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'the opened notice is sent again and again',
    file: SESSION,
    before: 'opening: { ...opening, isReported: true }',
    after: 'opening: { ...opening, isReported: false }',
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'a notification during the claim is lost',
    file: POLLS,
    before: 'if (poll.notice !== noticeBefore || poll.wasOpened) continue;',
    after: '',
    tests: ['test/http/polls.test.ts'],
  },
  {
    name: 'a poll stays registered after its device has left',
    file: POLLS,
    before: 'store.removeWaiter(poll);',
    after: '',
    tests: ['test/http/polls.test.ts'],
  },
  {
    name: 'a deadline of a poll stays in its queue',
    file: POLLS,
    before: 'queue.cancel(poll);',
    after: '',
    tests: ['test/http/polls.test.ts'],
  },
  {
    name: 'a parked poll is not told that its session expired',
    file: POLLS,
    before: 'const againMs = found === undefined ? retryMs : found.endsInMs;',
    after: 'const againMs = found === undefined ? retryMs : Number.POSITIVE_INFINITY;',
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'a poll is not tried again after the store has failed',
    file: POLLS,
    before: 'const againMs = found === undefined ? retryMs : found.endsInMs;',
    after: 'const againMs = found === undefined ? Number.POSITIVE_INFINITY : found.endsInMs;',
    tests: ['test/http/polls.test.ts'],
  },
  {
    name: 'a drain spends codes that the next process should exchange',
    file: RELAY,
    before: "if (draining || !exchanger.reserve()) return { completion: 'busy' };",
    after: "if (!exchanger.reserve()) return { completion: 'busy' };",
    tests: ['test/http/draining.test.ts'],
  },
  {
    name: 'a place at the provider is not given back after a stale link',
    file: RELAY,
    before: `        if (leased === undefined) {
          return`,
    after: `        if (leased === undefined) {
          exchanger = { ...exchanger, release() {} };
          return`,
    tests: ['test/http/sign-in.test.ts'],
  },
  {
    name: 'a start costs one token more for each collision of its secrets',
    file: RELAY,
    before: 'startedBy: tries === 0 ? startedBy : undefined,',
    after: 'startedBy,',
    tests: ['test/relay/tags.test.ts'],
  },
  {
    name: 'after a collision the old secrets are tried again',
    file: RELAY,
    before: `for (let tries = 0; tries < MAX_REGISTER_TRIES && full.size < tags; tries += 1) {
        const secrets = createSessionSecrets(randomBytes, { withUserCode, tags, without: full });`,
    after: `const secrets = createSessionSecrets(randomBytes, { withUserCode, tags, without: full });
      for (let tries = 0; tries < MAX_REGISTER_TRIES && full.size < tags; tries += 1) {`,
    tests: ['test/http/sign-in.test.ts'],
  },
  {
    name: 'a drain does not wait for tokens that no device has claimed',
    file: RELAY,
    before:
      'while (store.hasUndelivered() && clock.now() < untilMs) await pause(clock, DRAIN_CHECK_MS);',
    after: '',
    tests: ['test/http/draining.test.ts'],
  },
  {
    name: 'a code of the blind sign-in is exchanged by the relay',
    file: RELAY,
    before: 'if (leased.challenge !== undefined) {',
    after: "if (leased.challenge === '') {",
    tests: ['test/http/blind.test.ts'],
  },
  {
    name: 'two providers share the refresh of one token',
    file: REFRESH,
    before: "JSON.stringify([refresher.name, scope ?? '', refreshToken])",
    after: "JSON.stringify([scope ?? '', refreshToken])",
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'a refresh that failed for the moment is kept, as if the provider had decided',
    file: REFRESH,
    before: 'if (isFinal) kept',
    after: 'if (isFinal || outcome) kept',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'a refresh token is sent without the turn, after a wait',
    file: REFRESH,
    before: 'if (draining || clock.now() > untilMs) return undefined;',
    after: "if (draining || clock.now() > untilMs) return { state: 'yours' };",
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'the turn is kept when there is no place at the provider',
    file: REFRESH,
    before: 'if (!refresher.reserve()) return undefined;',
    after: 'if (!refresher.reserve()) return new Promise(() => {});',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'after some hours no result of a refresh is kept any more',
    file: REFRESH,
    before: 'totalBytes -= sizeBytes;',
    after: '',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'an expired access token counts as a sign-out at a provider that takes no other',
    file: 'src/relay/revoke.ts',
    before: 'const isDecided = !outcome?.ok || outcome.wasKnown;',
    after: 'const isDecided = outcome !== undefined;',
    tests: ['test/oauth/revoke.test.ts'],
  },
  {
    name: 'a revocation in progress does not hold up a drain',
    file: 'src/relay/revoke.ts',
    before: 'inProgress.add(tracked);',
    after: '',
    tests: ['test/oauth/revoke.test.ts'],
  },
  {
    name: 'the first letters of user codes are more likely',
    file: 'src/relay/secrets.ts',
    before: 'if (byte < evenBytes && code.length < USER_CODE_LENGTH) {',
    after: 'if (code.length < USER_CODE_LENGTH) {',
    tests: ['test/relay/secrets.test.ts'],
  },
  {
    name: 'the poll secret depends on the browser state',
    file: 'src/relay/secrets.ts',
    before: 'const pollSecret = draw(createCapability, isSame);',
    after:
      'const pollSecret = tags === 1 ? digestOf(browserState).slice(0, 24) : draw(createCapability, isSame);',
    tests: ['test/http/sign-in.test.ts'],
  },
  {
    name: 'parked polls are released before what waits in their sockets was read',
    file: 'src/relay/time.ts',
    before: 'else cancelTimer = clock.setTimer(STALL_GRACE_MS, releaseDue);',
    after: 'else releaseDue();',
    tests: ['test/relay/time.test.ts'],
  },
  {
    name: 'a bucket of a fractional rate is never full again',
    file: 'src/relay/rate-limit.ts',
    before: 'return aheadMs >= 1 ? Math.floor(aheadMs) : 0;',
    after: 'return aheadMs > 0 ? Math.ceil(aheadMs) : 0;',
    tests: ['test/stores/memory.test.ts'],
  },
];
