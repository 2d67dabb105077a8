/** Sizes of all measurements. */
export const FULL = {
  rounds: 11,
  signInsPerRound: 3_000,
  warmUpSignIns: 6_000,
  atOnce: 64,
  secondsPerRound: 3,
  userMs: 100,
  parkedPolls: 5_000,
  freshRelays: 5,
  liveSessions: 200_000,
  settleMs: 10_000,
  deadlineMinutes: 60,
};
export type Plan = typeof FULL;

export const QUICK: Plan = {
  ...FULL,
  rounds: 3,
  signInsPerRound: 1_000,
  warmUpSignIns: 1_500,
  secondsPerRound: 1,
  parkedPolls: 2_000,
  freshRelays: 1,
  liveSessions: 10_000,
  settleMs: 1_500,
  deadlineMinutes: 10,
};
