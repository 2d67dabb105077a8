/** Faults of the stores: in memory, in Durable Objects, in Redis, and of what they seal. */
import type { Fault } from './faults.ts';

const MEMORY = 'src/stores/memory/sessions.ts';
const SCRIPTS = 'src/stores/redis/scripts';

export const STORE_FAULTS: readonly Fault[] = [
  {
    name: 'a callback of another provider completes the session (mix-up)',
    file: MEMORY,
    before: 'return entry?.session.service === service ? entry : undefined;',
    after: 'return entry ?? (service ? undefined : entry);',
    tests: ['test/model/model.test.ts -t memory'],
  },
  {
    name: 'delivered sessions do not count against the limit',
    file: MEMORY,
    before: "return byPollDigest.size >= maxSessions ? 'busy' : undefined;",
    after: "return byLink.size >= maxSessions ? 'busy' : undefined;",
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'a start is refused although expired sessions could make room',
    file: MEMORY,
    before: `        // Expired sessions may be the cause.
        removeExpired(nowMs);`,
    after: '',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'a user code of a live session is given to another session',
    file: MEMORY,
    before: '(userCode !== undefined && byUserCode.has(userCode));',
    after: 'false;',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'outcomes of sessions that have ended fill the memory',
    file: MEMORY,
    before: 'if (outcomes.size <= MAX_OUTCOMES) break;',
    after: 'if (outcomes.size >= 0) break;',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'a delivered result is never removed, if its device does not acknowledge it',
    file: MEMORY,
    before: `    for (const entry of delivered.findExpired(nowMs)) {
      removePoll(entry);
      delivered.remove(entry);
    }`,
    after: '',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'the user code of a session works after its result was delivered',
    file: MEMORY,
    before: `  function removeLink({ link, session }: Entry): void {
    byLink.delete(link);
    if (session.userCode !== undefined) byUserCode.delete(session.userCode);`,
    after: `  function removeLink({ link }: Entry): void {
    byLink.delete(link);`,
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'memory grows with each session that a device has polled',
    file: 'src/stores/waiters.ts',
    before: 'if (waiters?.size === 0) byId.delete(waiter.registeredAs);',
    after: '',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'one device takes every connection with polls of one session',
    file: 'src/stores/waiters.ts',
    before: 'if (waiters.size >= MAX_POLLS_PER_SESSION) {',
    after: 'if (waiters.size >= 100 * MAX_POLLS_PER_SESSION) {',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'addresses fill the memory of a rate limit',
    file: 'src/stores/memory/rate-limits.ts',
    before: 'if (oldest !== undefined) fullAtMs.delete(oldest);',
    after: '',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'at its limit a rate limit forgets the address that is used most',
    file: 'src/stores/memory/rate-limits.ts',
    before: `      fullAtMs.delete(key);
      takes += 1;`,
    after: '      takes += 1;',
    tests: ['test/stores/memory.test.ts'],
  },
  {
    name: 'tokens of a refresh stay in memory until the next one',
    file: 'src/stores/memory/refreshes.ts',
    before: 'if (byDigest.get(digest) === refresh) byDigest.delete(digest);',
    after: '',
    tests: ['test/oauth/refresh.test.ts'],
  },
  {
    name: 'nonces repeat',
    file: 'src/stores/sealing.ts',
    before: 'const nonce = randomBytes(NONCE_BYTES);',
    after: 'const nonce = Buffer.alloc(NONCE_BYTES, randomBytes(1));',
    tests: ['test/stores/seal.test.ts'],
  },
  {
    name: 'a sealed message is accepted in the place of another',
    file: 'src/stores/sealed-session.ts',
    before: `\`verifier \${sessionId} \${service}\``,
    after: '`verifier ` + sessionId + service.slice(99)',
    tests: ['test/stores/tampered.test.ts'],
  },
  {
    name: 'who has the store and a user code can open the tokens',
    file: 'src/stores/sealed-session.ts',
    before: "if (sealedDeviceKey === '') return seal(link.key, context, text, randomBytes);",
    after: 'if (sealedDeviceKey !== undefined) return seal(link.key, context, text, randomBytes);',
    tests: ['test/stores/tampered.test.ts'],
  },
  {
    name: 'the name of the device is readable in the store',
    file: 'src/stores/sealed-session.ts',
    before: 'sealed(nameContext(sessionId), deviceName),',
    after: 'deviceName,',
    tests: ['test/stores/sealed.test.ts'],
  },
  {
    name: 'an object that was evicted has a cancelled session again',
    file: MEMORY,
    before: `      change(entry, cancelled);
      observer`,
    after: `      entry.session = cancelled;
      observer`,
    tests: ['test/stores/durable.test.ts'],
  },
  {
    name: 'an object that was evicted delivers a result again',
    file: MEMORY,
    before: `  function removePoll(entry: Entry): void {
    keeping.remove(entry);`,
    after: '  function removePoll(entry: Entry): void {',
    tests: ['test/stores/durable.test.ts'],
  },
  {
    name: 'a verb takes effect although the object could not write it',
    file: MEMORY,
    before: `    keeping.write(entry, next);
    entry.session = next;`,
    after: `    entry.session = next;
    keeping.write(entry, next);`,
    tests: ['test/stores/durable.test.ts'],
  },
  {
    name: 'an object forgets wrong codes when it is evicted',
    file: 'src/stores/durable/rate-limits.ts',
    before: 'if (retryAfterMs === 0) noteChange(key);',
    after: '',
    tests: ['test/stores/durable.test.ts'],
  },
  {
    name: 'rows of refreshes are never removed from an object',
    file: 'src/stores/durable/open.ts',
    before: 'rows.removeOld(clock.now());',
    after: '',
    tests: ['test/stores/durable.test.ts'],
  },
  {
    name: 'a repeated refresh of another address goes to another object',
    file: 'src/workers/tag.ts',
    before: "if (pathname.endsWith('/refresh')) return textOf(parseMembers(body).refreshToken);",
    after: '',
    tests: ['test/workers/objects.test.ts'],
  },
  {
    name: 'a Worker takes the address from a header that clients can set',
    file: 'src/workers/relay-object.ts',
    before: "export const ADDRESS_HEADER = 'cf-connecting-ip';",
    after: "export const ADDRESS_HEADER = 'x-real-ip';",
    tests: ['test/workers/objects.test.ts'],
  },

  {
    name: 'of two claims both get the result, in Redis',
    file: `${SCRIPTS}/claim.lua`,
    before: 'local is_own = claimed_by == claim',
    after: 'local is_own = true',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'a result that was delivered to two polls is taken back from one',
    file: `${SCRIPTS}/claim.lua`,
    before: "if not is_own then redis.call('HDEL', session, FIELD.claimed_by) end",
    after: '',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'the pointer of a delivered session stays',
    file: `${SCRIPTS}/claim.lua`,
    before: "redis.call('PEXPIRE', pointer, stays_ms)",
    after: '',
    tests: ['test/stores/redis.test.ts -t delivery'],
  },
  {
    name: 'a delivered session counts against the limit until it expires',
    file: `${SCRIPTS}/claim.lua`,
    before: "redis.call('ZREM', live, session_id)",
    after: '',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'an exchange that is late replaces the result of a lease that ran out',
    file: `${SCRIPTS}/complete.lua`,
    before: ' or is_lapsed(state, record[FIELD.lease_ends_at]) then return false end',
    after: ' then return false end',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'the verifier stays in Redis after the exchange',
    file: `${SCRIPTS}/complete.lua`,
    before: "redis.call('HDEL', session, FIELD.verifier, FIELD.device_name)",
    after: "redis.call('HDEL', session, FIELD.device_name)",
    tests: ['test/stores/tampered.test.ts'],
  },
  {
    name: 'undoing one claim undoes another',
    file: `${SCRIPTS}/undo-claim.lua`,
    before: ' or not claimed_by or string.sub(claimed_by, 1, #undone) ~= undone then',
    after: ' or not claimed_by then',
    tests: ['test/redis/repeated-commands.test.ts -t has not executed'],
  },
  {
    name: 'a claim that was undone has shortened the session',
    file: `${SCRIPTS}/undo-claim.lua`,
    before: 'expires_at = tonumber(expires_at_before or expires_at)',
    after: 'expires_at = tonumber(expires_at)',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'after a claim was undone the pointer expires',
    file: `${SCRIPTS}/undo-claim.lua`,
    before: "for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, kept_ms) end",
    after: "redis.call('PEXPIRE', session, kept_ms)",
    tests: ['test/stores/redis.test.ts'],
  },
  {
    name: 'nobody is notified that a claim was undone',
    file: `${SCRIPTS}/undo-claim.lua`,
    before: "notify(redis.call('HGETALL', session), ARGV[4], poll_id)",
    after: '',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'undoing one lease undoes another, whose code is then spent twice',
    file: `${SCRIPTS}/undo-lease.lua`,
    before: ' or lease_id ~= ARGV[3]',
    after: '',
    tests: ['test/redis/repeated-commands.test.ts -t has not executed'],
  },
  {
    name: 'a repeated lease spends the code a second time',
    file: `${SCRIPTS}/lease.lua`,
    before: 'and lease_id == ARGV[4] and',
    after: 'and',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'a user code of a live session is given to another, in Redis',
    file: `${SCRIPTS}/register.lua`,
    before: ' or code and is_taken(code) then',
    after: ' then',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'a start that is refused for the limit on sessions costs nothing',
    file: `${SCRIPTS}/register.lua`,
    before: `  if burst then
    redis.call('DEL', bucket)
    fill_at(bucket, full_at)
  end
  return refusal`,
    after: '  return refusal',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'a command that was held up is carried out after the relay has given up',
    file: `${SCRIPTS}/prelude.lua`,
    before: "if latest and now > latest then return redis.error_reply('LATE not carried out') end",
    after: '',
    tests: ['test/stores/internals.test.ts'],
  },
  {
    name: 'a full Redis refuses callbacks',
    file: `${SCRIPTS}/prelude.lua`,
    before: "  redis.call('HDEL', hash, '')",
    after: '',
    tests: ['test/redis/full.test.ts'],
  },
  {
    name: 'a page says for ever that the sign-in is in progress',
    file: `${SCRIPTS}/find.lua`,
    before: ' and not is_lapsed(state, lease_ends_at) then',
    after: ' then',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'two instances send one refresh token',
    file: `${SCRIPTS}/begin-refresh.lua`,
    before: "if holder ~= caller then return { 'in_progress' } end",
    after: '',
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'sessions that expire in Redis are not logged',
    file: `${SCRIPTS}/remove-expired.lua`,
    before: "if #expired > 0 then redis.call('ZREM', KEYS[1], unpack(expired)) end",
    after: "if #expired > 0 then redis.call('ZREM', KEYS[1], unpack(expired)) end\nexpired = {}",
    tests: ['test/stores/redis.test.ts -t ^Redis:'],
  },
  {
    name: 'after a failover the code is exchanged again',
    file: 'src/stores/redis/browser.ts',
    before: `        }
        return undefined;
      }
      const id`,
    after: `        }
      }
      const id`,
    tests: ['test/redis/failover.test.ts'],
  },
  {
    name: 'a lease whose outcome is unknown is not undone',
    file: 'src/stores/redis/browser.ts',
    before: 'void commands.undo(undoOnce, { isUnknown: true });',
    after: 'void undoOnce;',
    tests: ['test/redis/lost-answers.test.ts'],
  },
  {
    name: 'a claim that was found pending hides a completion that was published meanwhile',
    file: 'src/stores/redis/local-polls.ts',
    before: 'if (known !== undefined && known === when) add',
    after: 'if (known !== undefined) add',
    tests: ['test/redis/known-pending.test.ts'],
  },
  {
    name: 'a session counts as pending after messages may have been missed',
    file: 'src/stores/redis/local-polls.ts',
    before: `      recent.clear();
      older.clear();`,
    after: '      recent.clear();',
    tests: ['test/redis/known-pending.test.ts'],
  },
  {
    name: 'after a pause of the process a claim is delivered to a device that has left',
    file: 'src/stores/redis/device.ts',
    before: "if (reply.state === 'claimed' && wasPaused) await pause(clock, STALL_GRACE_MS);",
    after: 'void wasPaused;',
    tests: ['test/redis/lost-answers.test.ts'],
  },
  {
    name: 'a pause of the process counts as time in which Redis did not answer',
    file: 'src/stores/redis/commands.ts',
    before: 'leftMs -= Math.min(clock.now() - startedAtMs, STORE_DEADLINE_MS + STORE_RETRY_MS);',
    after: 'leftMs -= clock.now() - startedAtMs;',
    tests: ['test/redis/repeated-commands.test.ts -t paused'],
  },
  {
    name: 'an undo ends while the attempt may still be carried out',
    file: 'src/stores/redis/commands.ts',
    before: 'if (isAnswered && askedAtMs >= settledAtMs) return;',
    after: 'if (isAnswered && settledAtMs) return;',
    tests: ['test/redis/repeated-commands.test.ts -t undone'],
  },
  {
    name: 'polls are not asked to claim again after messages may have been lost',
    file: 'src/stores/redis/pub-sub.ts',
    before: 'if (missed > 1 || line.wasCut) localPolls.recheckAll();',
    after: '',
    tests: ['test/redis/known-pending.test.ts'],
  },
  {
    name: 'a subscription that is half-open is never renewed',
    file: 'src/stores/redis/pub-sub.ts',
    before:
      'if (!stopped && missed > 0 && missed % HEARTBEATS_TO_REBUILD === 0) await subscribe();',
    after: '',
    tests: ['test/stores/internals.test.ts', 'test/redis/recovery.test.ts'],
  },
];
