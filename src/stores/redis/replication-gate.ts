/**
 * Results are delivered only while a replica confirms claims: otherwise a failover
 * would undo a claim, and the tokens would be delivered twice. Devices keep waiting,
 * and claim again once a replica keeps up.
 */
import { STORE_RETRY_MS } from '../../limits.ts';
import type { Clock } from '../../relay/time.ts';

export interface HoldBackOptions {
  readonly clock: Clock;
  /** Whether a replica keeps up. */
  readonly isReplicating: () => Promise<boolean>;
  readonly onHeld: () => void;
  readonly onReleased: () => void;
}

export interface HoldBack {
  readonly isHeld: boolean;
  /** From now on until a replica keeps up. */
  hold(): void;
  stop(): void;
}

export function createHoldBack(options: HoldBackOptions): HoldBack {
  const { clock, isReplicating, onHeld, onReleased } = options;
  let isHeld = false;
  let isStopped = false;
  let cancel: () => void = () => {};

  function lookLater(): void {
    cancel = clock.setTimer(STORE_RETRY_MS, () => void look());
  }

  async function look(): Promise<void> {
    const isOver = await isReplicating().catch(() => false);
    if (isStopped) return;
    if (!isOver) return lookLater();
    isHeld = false;
    onReleased();
  }

  return {
    get isHeld() {
      return isHeld;
    },
    hold() {
      if (isHeld) return;
      isHeld = true;
      onHeld();
      lookLater();
    },
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
