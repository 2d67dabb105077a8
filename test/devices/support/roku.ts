/**
 * The part of a Roku that examples/devices/roku needs: the network, the screen and the remote control, on
 * which Ctrl-C is Back. The program runs in a worker.
 */
import { MessageChannel, Worker } from 'node:worker_threads';
import type { FromProgram, Outcome, Shared, ToProgram, Transfer } from './roku-task.ts';

const [relay = '', service = ''] = process.argv.slice(2);
const { port1, port2 } = new MessageChannel();
const sent = new Int32Array(new SharedArrayBuffer(4));
const shared: Shared = { port: port2, sent, relay, service };
new Worker(new URL('./roku-task.ts', import.meta.url), {
  workerData: shared,
  transferList: [port2],
});

function send(message: ToProgram): void {
  port1.postMessage(message);
  Atomics.add(sent, 0, 1);
  Atomics.notify(sent, 0);
}

async function answer({ id, url, body }: Transfer): Promise<void> {
  try {
    const method = body === undefined ? 'GET' : 'POST';
    const response = await fetch(url, { method, body: body ?? null });
    const headers = Object.fromEntries(response.headers);
    send({ id, status: response.status, body: await response.text(), headers });
  } catch {
    send({ id, status: 0, body: '', headers: {} });
  }
}

let isUnsaved = false;

function end({ error, detail }: Outcome): void {
  if (error !== undefined) console.error(detail ? `${error}: ${detail}` : error);
  else if (isUnsaved) console.log('Goes on.');
  if (isUnsaved) return;
  process.exit(error === undefined ? 0 : error === 'cancelled' ? 130 : 1);
}

process.on('SIGINT', () => send('back'));
port1.on('message', (message: FromProgram) => {
  if ('id' in message) void answer(message);
  else if (message.field === 'prompt') console.log(`Open ${message.value.link}`);
  else if (message.field === 'unsaved') isUnsaved = message.value !== undefined;
  else if (message.field === 'outcome') end(message.value);
});
