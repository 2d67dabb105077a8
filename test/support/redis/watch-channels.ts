/** Hears every message of every channel. */
import { connectAsAdmin } from './admin-client.ts';
import type { Finding } from './keyspace.ts';
import { parseMonitorLine } from './monitor-line.ts';
import type { RedisServer } from './redis-server.ts';

export interface ChannelWatch {
  /** All that was published since the start of the watch, up to now. */
  messages(): Promise<readonly Finding[]>;
  stop(): void;
}

/** Resolves when nothing that is published from now on is missed. It does not outlive a restart. */
export async function watchChannels(
  servers: RedisServer | readonly RedisServer[],
): Promise<ChannelWatch> {
  const watches = await Promise.all([servers].flat().map(watchServer));
  return {
    messages: async () => (await Promise.all(watches.map((watch) => watch.messages()))).flat(),
    stop() {
      for (const watch of watches) watch.stop();
    },
  };
}

async function watchServer(server: RedisServer): Promise<ChannelWatch> {
  const [speaker, listener, monitor] = await Promise.all([
    connectAsAdmin(server),
    connectAsAdmin(server),
    connectAsAdmin(server),
  ]);
  const log = createLog(server.url);
  await listener.pSubscribe('*', (message, channel) => log.take(channel, message), true);
  // No pattern covers the channels of a shard.
  await monitor.monitor((line) => {
    const [command, channel, message] = parseMonitorLine(String(line));
    if (/^spublish$/i.test(String(command)) && channel && message) log.take(channel, message);
    if (/^echo$/i.test(String(command)) && channel) log.meet(channel);
  });
  return {
    async messages() {
      const met = [log.awaitMark(), log.awaitMark()] as const;
      await speaker.sendCommand(['PUBLISH', 'mark', met[0].mark]);
      await speaker.sendCommand(['ECHO', met[1].mark]);
      await Promise.all(met.map(({ arrival }) => arrival));
      return log.findings;
    },
    stop() {
      for (const client of [speaker, listener, monitor]) client.destroy();
    },
  };
}

/** What was heard. A mark of our own says that all before it has been heard too. */
function createLog(url: string) {
  const findings: Finding[] = [];
  const awaited = new Map<string, () => void>();
  /** True when it was a mark. */
  function meet(text: Buffer): boolean {
    const arrive = awaited.get(text.toString('latin1'));
    arrive?.();
    return arrive !== undefined;
  }
  return {
    findings,
    meet,
    take(channel: Buffer, message: Buffer): void {
      if (meet(message)) return;
      const name = JSON.stringify(channel.toString('latin1'));
      findings.push(
        { where: `${url}: the name of channel ${name}`, bytes: channel },
        { where: `${url}: a message on channel ${name}`, bytes: message },
      );
    },
    awaitMark() {
      const mark = crypto.randomUUID();
      const { promise: arrival, resolve } = Promise.withResolvers<void>();
      awaited.set(mark, resolve);
      return { mark, arrival };
    },
  };
}
