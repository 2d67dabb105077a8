/** A client that leaves in the middle of its body is nobody's fault, and ends nothing. */
import { expect, test } from 'bun:test';
import { startLocalRelay } from '../support/local-relay.ts';
import { startNodeRelay } from '../support/node-relay.ts';
import { openRaw, type RawConnection } from '../support/raw-connection.ts';

const CLIENTS = 10;

const HALF_BODIES = {
  'a length': 'Content-Length: 400\r\n\r\n{"service":',
  chunks: 'Transfer-Encoding: chunked\r\n\r\nb\r\n{"service":\r\n',
};

const LEAVE = {
  FIN: (connection: RawConnection) => connection.leave(),
  'half-close': (connection: RawConnection) => connection.sendEnd(),
  RST: (connection: RawConnection) => connection.reset(),
};

/** Moments on the relay's way into the body, of which it tells nothing. */
const AFTER_MS = [0, 10, 100];

async function sendHalf(baseUrl: string, halfBody: string, leave: keyof typeof LEAVE, ms: number) {
  const connection = openRaw(baseUrl);
  await connection.send(`POST /auth/start HTTP/1.1\r\nHost: a\r\n${halfBody}`);
  await Bun.sleep(ms);
  LEAVE[leave](connection);
  await connection.closed;
}

const RUNTIMES = { Bun: startLocalRelay, Node: startNodeRelay };

test.each(Object.keys(RUNTIMES) as (keyof typeof RUNTIMES)[])(
  'under %s: clients that leave after half a body trouble nobody',
  async (runtime) => {
    const relay = await RUNTIMES[runtime]({ MAL_CLIENT_ID: 'mal-client', START_BURST: '10000' });
    const departures = Object.values(HALF_BODIES).flatMap((halfBody) =>
      (Object.keys(LEAVE) as (keyof typeof LEAVE)[]).flatMap((leave) =>
        AFTER_MS.flatMap((ms) =>
          Array.from({ length: CLIENTS }, () => sendHalf(relay.baseUrl, halfBody, leave, ms)),
        ),
      ),
    );
    await Promise.all(departures);
    expect((await fetch(`${relay.baseUrl}/health`)).status).toBe(200);
    // Whatever it heard of late would be told by the exit code.
    expect(await relay.stop()).toBe(0);
    expect(relay.events().filter(({ event }) => event === 'stray_error')).toEqual([]);
  },
);
