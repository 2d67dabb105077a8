/** Counts what Redis is asked over the connections of a proxy. */
import { commandName, createRespReader, isPush } from './resp-values.ts';

export interface TrafficCounts {
  readonly connections: number;
  /** How often each command was sent; MULTI, EXEC and what a library says at its start are commands too. */
  readonly commands: ReadonlyMap<string, number>;
  /** How often a client sent something while it waited for nothing on that connection. */
  readonly roundTrips: number;
  readonly requestBytes: number;
  readonly replyBytes: number;
}

/** One connection. */
export interface Meter {
  readonly takeRequest: (chunk: Buffer) => void;
  readonly takeReply: (chunk: Buffer) => void;
}

/** In RESP 3 a subscription is confirmed by pushes, one for each channel: no reply is waited for. */
const HAS_NO_REPLY = /SUBSCRIBE$/;

export function createTraffic() {
  const commands = new Map<string, number>();
  let [connections, roundTrips, requestBytes, replyBytes] = [0, 0, 0, 0];

  function createMeter(): Meter {
    connections += 1;
    let awaited = 0;
    const readRequests = createRespReader((request) => {
      const name = commandName(request);
      commands.set(name, (commands.get(name) ?? 0) + 1);
      if (awaited === 0) roundTrips += 1;
      if (!HAS_NO_REPLY.test(name)) awaited += 1;
    });
    const readReplies = createRespReader((reply) => {
      if (!isPush(reply)) awaited = Math.max(0, awaited - 1);
    });
    return {
      takeRequest(chunk) {
        requestBytes += chunk.length;
        readRequests(chunk);
      },
      takeReply(chunk) {
        replyBytes += chunk.length;
        readReplies(chunk);
      },
    };
  }
  return {
    createMeter,
    counts: (): TrafficCounts => ({
      ...{ connections, roundTrips, requestBytes, replyBytes },
      commands: new Map(commands),
    }),
    reset() {
      [connections, roundTrips, requestBytes, replyBytes] = [0, 0, 0, 0];
      commands.clear();
    },
  };
}
