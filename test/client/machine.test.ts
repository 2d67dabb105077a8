/** What the state says after events that meet: client/src/machine.ts, as pure functions. */
import { expect, test } from 'bun:test';
import { SignInError } from '../../client/src/errors.ts';
import * as machine from '../../client/src/machine.ts';
import type { Tokens } from '../../client/src/tokens.ts';

const NOW_MS = 1_000_000;
const OURS: Tokens = { accessToken: 'ours', refreshToken: 'own' };
const THEIRS: Tokens = { accessToken: 'theirs', refreshToken: 'other' };
const FAILED = new SignInError('storage_failed', 'The storage failed to write');

function apply(...events: readonly machine.Event[]) {
  let state = machine.FIRST_STATE;
  let effects: machine.Effect[] = [];
  for (const event of events) [state, ...effects] = event(state, NOW_MS);
  return { state, status: machine.shownOf(state).status, effects };
}

const NOBODY = machine.storageRead(1, undefined, undefined, false);
const HELD = machine.storageRead(1, THEIRS, undefined, false);

test('tokens that are stored after a failure end what was shown as failed', () => {
  const unsaved = [NOBODY, machine.signIn, machine.granted(1, OURS), machine.failed(1, FAILED)];
  expect(apply(...unsaved).status).toBe('failed');
  expect(apply(...unsaved, machine.saved(OURS)).status).toBe('signed-in');
});

test('a sign-in of another tab ends a failure, and the sign-in here', () => {
  expect(apply(NOBODY, machine.signIn, machine.failed(1, FAILED), HELD).status).toBe('signed-in');
  const expired: Tokens = { accessToken: 'old', expiresIn: 1, expiresAt: 1 };
  const { status, effects } = apply(
    machine.storageRead(1, expired, undefined, false),
    machine.signIn,
    HELD,
  );
  expect([status, effects]).toEqual(['signed-in', [{ type: 'end', how: 'overtaken' }]]);
});

test('tokens of a link that two tabs show are not revoked by the slower tab', () => {
  const { state, effects } = apply(NOBODY, machine.signIn, HELD, machine.granted(1, { ...THEIRS }));
  expect([state.tokens, effects]).toEqual([THEIRS, []]);
});

test('tokens that were not stored before another tab signed out are revoked', () => {
  const { state, effects } = apply(HELD, machine.refreshed(1, 'other', OURS), NOBODY);
  expect([state.tokens, effects]).toEqual([undefined, [{ type: 'revoke', tokens: OURS }]]);
});

test('tokens of a refresh that began before a sign-out, or a sign-in, change nothing', () => {
  const late = machine.refreshed(1, 'other', OURS);
  const out = apply(HELD, machine.signOut, late);
  expect([out.status, out.effects]).toEqual(['signed-out', [{ type: 'revoke', tokens: OURS }]]);
  // Some providers give every sign-in the same refresh token.
  for (const refreshToken of ['again', 'other']) {
    const again: Tokens = { accessToken: 'again', refreshToken };
    const signedIn = [machine.signIn, machine.granted(1, again), machine.saved(again)];
    const { state, effects } = apply(HELD, ...signedIn, late);
    expect([state.tokens, effects]).toEqual([again, []]);
  }
});

test('tokens that an older write preceded are not lost with a failure to store them', () => {
  const again: Tokens = { accessToken: 'again', refreshToken: 'again' };
  const refreshed = machine.refreshed(1, 'other', OURS);
  const late = [machine.saved(OURS), machine.saveFailed(FAILED)];
  const stored = machine.storageRead(2, OURS, undefined, false);
  const granted = [machine.signIn, machine.granted(1, again)];
  expect(apply(HELD, refreshed, ...granted, ...late, stored).state.tokens).toEqual(again);
});

test('signing out ends a sign-in, and revokes tokens that are not stored yet', () => {
  const { status, effects } = apply(
    NOBODY,
    machine.signIn,
    machine.granted(1, OURS),
    machine.signOut,
  );
  expect(status).toBe('signed-out');
  expect(effects).toEqual([
    { type: 'clear', known: OURS },
    { type: 'revoke', tokens: OURS },
    { type: 'end', how: 'cancelled' },
  ]);
});

test('a failed sign-in is shown until it is dismissed, and ends no earlier one', () => {
  const failed = [HELD, machine.signIn, machine.failed(1, FAILED)];
  expect(apply(...failed)).toMatchObject({ status: 'failed', state: { tokens: THEIRS } });
  expect(apply(...failed, machine.cancel).status).toBe('signed-in');
});

test('once the tokens have arrived it is too late to cancel', () => {
  const { state, effects } = apply(
    NOBODY,
    machine.signIn,
    machine.granted(1, OURS),
    machine.cancel,
  );
  expect([state.tokens, effects]).toEqual([OURS, []]);
});

test('events of a cancelled sign-in change nothing, and its tokens are revoked', () => {
  const cancelled = [NOBODY, machine.signIn, machine.cancel];
  const late = [machine.connectionChanged(1, 'away'), machine.failed(1, FAILED)];
  expect(apply(...cancelled, ...late).state).toEqual(apply(...cancelled).state);
  const { status, effects } = apply(...cancelled, machine.granted(1, OURS));
  expect([status, effects]).toEqual(['signed-out', [{ type: 'revoke', tokens: OURS }]]);
});

test('what the provider has ended stays ended, whatever the storage still has', () => {
  // Read before the end, and after it, if the storage could not delete them.
  for (const version of [1, 2]) {
    const again = machine.storageRead(version, { ...THEIRS }, undefined, false);
    const { state, status } = apply(HELD, machine.ended(1, FAILED), again);
    expect([status, state.tokens]).toEqual(['signed-out', undefined]);
  }
});

test('a sign-out that the storage refused does not end a newer sign-in', () => {
  const newer = [machine.signOut, machine.signIn, machine.granted(1, OURS)];
  const { state, effects } = apply(HELD, ...newer, machine.ended(2, FAILED, THEIRS));
  expect([state.tokens, effects]).toEqual([OURS, []]);
});
