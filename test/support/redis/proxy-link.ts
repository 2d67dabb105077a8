/** One connection through the proxy: what one side sends goes to the other, unless it is held. */
import type { Socket } from 'node:net';
import type { Meter } from './traffic.ts';

/** `requests`: Redis does not hear of them. `replies`: it has done what was asked, and nobody learns it. */
export type Stalled = boolean | 'requests' | 'replies';

export interface ProxyLink {
  stall(what: Stalled): void;
  cut(): void;
}

export function createLink(client: Socket, redis: Socket, meter: Meter): ProxyLink {
  const requests = createDirection(client, redis, meter.takeRequest);
  const replies = createDirection(redis, client, meter.takeReply);
  return {
    stall(what) {
      requests.hold(what === true || what === 'requests');
      replies.hold(what === true || what === 'replies');
    },
    cut() {
      client.destroy();
      redis.destroy();
    },
  };
}

function createDirection(from: Socket, to: Socket, see: (chunk: Buffer) => void) {
  /** In its order, the end included: a network that stalls hides that too. */
  const held: (() => void)[] = [];
  let isHeld = false;
  function pass(step: () => void): void {
    if (isHeld) held.push(step);
    else step();
  }
  from.setNoDelay(true);
  from.on('data', (chunk: Buffer) => {
    see(chunk);
    pass(() => void to.write(chunk));
  });
  from.on('close', () => pass(() => void to.end()));
  // The close that follows says all that the other side may know.
  from.on('error', () => {});
  return {
    hold(on: boolean) {
      isHeld = on;
      if (!on) for (const step of held.splice(0)) step();
    },
  };
}
