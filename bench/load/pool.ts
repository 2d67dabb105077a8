/** Connections to one port that are kept alive and used again, as a proxy keeps them. */
import { type Connection, connect } from './connection.ts';

interface Pool {
  take(): Promise<Connection>;
  give(connection: Connection): void;
}

const pools = new Map<number, Pool>();

function poolOf(port: number): Pool {
  const known = pools.get(port);
  if (known !== undefined) return known;
  const pool = createPool(port);
  pools.set(port, pool);
  return pool;
}

function createPool(port: number): Pool {
  const free: Connection[] = [];
  return {
    async take() {
      for (let connection = free.pop(); connection !== undefined; connection = free.pop()) {
        if (connection.isOpen) return connection;
      }
      return connect(port);
    },
    give(connection) {
      if (connection.isOpen) free.push(connection);
    },
  };
}

/** One request after another on any of them. */
export async function onConnection<T>(
  port: number,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const pool = poolOf(port);
  const connection = await pool.take();
  const result = await use(connection);
  pool.give(connection);
  return result;
}

export const ask = (port: number, request: string) =>
  onConnection(port, (connection) => connection.send(request));
