/** How much of everything is done: enough to believe, or `--quick`, enough to see. */

export const FULL = {
  rounds: 7,
  signInsARound: 6_000,
  requestsARound: 4_000,
  warmUpSignIns: 6_000,
  atOnce: 64,
  secondsARound: 5,
  personMs: 100,
  wakeUpsPerSecond: 500,
  parkedPolls: 5_000,
  freshRelays: 5,
  parkingRounds: 20,
  liveSessions: [1_000, 5_000, 20_000, 50_000, 100_000, 200_000],
  starts: 10,
  settleMs: 10_000,
  quietMs: 60_000,
  /** Everything is over by then, or something hangs. */
  deadlineMinutes: 45,
};

export type Plan = typeof FULL;

export const QUICK: Plan = {
  ...FULL,
  rounds: 3,
  signInsARound: 1_000,
  requestsARound: 1_000,
  warmUpSignIns: 1_500,
  secondsARound: 1,
  parkedPolls: 2_000,
  freshRelays: 1,
  parkingRounds: 4,
  liveSessions: [1_000, 10_000],
  starts: 3,
  settleMs: 1_500,
  quietMs: 1_500,
  deadlineMinutes: 5,
};
