/** The thread of a Task node: it runs examples/devices/roku in brs, which never yields to a loop of events. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MessagePort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { createExecuteWithScope, types } from '@rokucommunity/brs';

const {
  BrsBoolean,
  BrsComponent,
  BrsInvalid,
  BrsString,
  Callable,
  Int32,
  RoAssociativeArray,
  RoMessagePort,
  RoSGNodeEvent,
  StdlibArgument,
  ValueKind,
} = types;

const REGISTRY = 'tokens-mal.json';

export interface Transfer {
  readonly id: number;
  readonly url: string;
  readonly body: string | undefined;
}

export interface Reply {
  readonly id: number;
  /** 0: no complete response. */
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Outcome {
  readonly error?: string;
  readonly detail?: string;
}

/** A request that the program makes, or a field that it sets. */
export type FromProgram =
  | Transfer
  | { readonly field: 'prompt'; readonly value: { readonly link: string } }
  | { readonly field: 'outcome'; readonly value: Outcome }
  | { readonly field: 'unsaved'; readonly value: object | undefined };

export type ToProgram = 'back' | Reply;

export interface Shared {
  readonly port: MessagePort;
  /** Changes with each message, since the worker cannot wait for the port itself. */
  readonly sent: Int32Array;
  readonly relay: string;
  readonly service: string;
}

const { String: text, Object: object, Boolean: boolean, Dynamic: dynamic } = ValueKind;

/** A method that BrightScript can call. */
function method(name: string, kinds: types.ValueKind[], impl: (...args: never[]) => types.BrsType) {
  const args = kinds.map((kind, index) => new StdlibArgument(`arg${index}`, kind));
  return new Callable(name, {
    signature: { args: args as types.Argument[], returns: dynamic },
    impl: (_, ...values) => impl(...(values as never[])),
  });
}

const nothing = () => BrsInvalid.Instance;

function toJs(value: types.BrsType): unknown {
  if (value instanceof RoAssociativeArray) {
    return Object.fromEntries([...value.elements].map(([name, member]) => [name, toJs(member)]));
  }
  return value instanceof BrsString || value instanceof Int32 ? value.getValue() : undefined;
}

/** `m.top`: the fields of SignInTask.xml. */
class TaskNode extends RoAssociativeArray {
  constructor(
    private readonly port: MessagePort,
    fields: Readonly<Record<string, string>>,
  ) {
    super([]);
    for (const [name, value] of Object.entries({ ...fields, rejected: '' })) {
      super.set(new BrsString(name), new BrsString(value));
    }
    this.appendMethods([method('observefield', [text, object], () => BrsBoolean.True)]);
  }

  override set(name: types.BrsString, value: types.BrsType) {
    this.port?.postMessage({ field: name.value, value: toJs(value) });
    return super.set(name, value);
  }
}

class Component extends BrsComponent {
  readonly kind = object;

  constructor(
    private readonly name: string,
    methods: types.Callable[],
  ) {
    super(name);
    this.appendMethods(methods);
  }

  override toString = () => `<Component: ${this.name}>`;
  equalTo = () => BrsBoolean.False;
}

let transfers = 0;

function createUrlTransfer(port: MessagePort) {
  transfers += 1;
  const id = transfers;
  let url = '';
  const start = (body?: string) => {
    port.postMessage({ id, url, body } satisfies FromProgram);
    return BrsBoolean.True;
  };
  return new Component('roUrlTransfer', [
    method('seturl', [text], (address: types.BrsString) => {
      url = address.value;
      return BrsInvalid.Instance;
    }),
    method('setcertificatesfile', [text], nothing),
    method('initclientcertificates', [], nothing),
    method('retainbodyonerror', [boolean], nothing),
    method('setport', [object], nothing),
    method('addheader', [text, text], nothing),
    method('asyncgettostring', [], () => start()),
    method('asyncpostfromstring', [text], (body: types.BrsString) => start(body.value)),
    method('asynccancel', [], nothing),
    method('getidentity', [], () => new Int32(id)),
  ]);
}

function createUrlEvent({ id, status, body, headers }: Reply) {
  const members = Object.entries(headers).map(([name, value]) => ({
    name: new BrsString(name),
    value: new BrsString(value),
  }));
  return new Component('roUrlEvent', [
    method('getsourceidentity', [], () => new Int32(id)),
    // Negative: an error of curl, such as CURLE_RECV_ERROR.
    method('getresponsecode', [], () => new Int32(status || -56)),
    method('getstring', [], () => new BrsString(body)),
    method('getresponseheaders', [], () => new RoAssociativeArray(members)),
  ]);
}

/** A section of the registry with one key, in a file. It is full while the place of a new file is taken. */
const createRegistrySection = () =>
  new Component('roRegistrySection', [
    method('exists', [text], () => BrsBoolean.from(existsSync(REGISTRY))),
    method('read', [text], () => new BrsString(readFileSync(REGISTRY, 'utf8'))),
    method('write', [text, text], (_: types.BrsString, value: types.BrsString) => {
      if (existsSync(`${REGISTRY}.new/in-the-way`)) return BrsBoolean.False;
      writeFileSync(REGISTRY, value.value, { mode: 0o600 });
      return BrsBoolean.True;
    }),
    method('flush', [], () => BrsBoolean.True),
  ]);

async function runProgram({ port, sent, relay, service }: Shared): Promise<void> {
  // The interpreter's own wait is a loop that knows of no events from outside.
  RoMessagePort.prototype.wait = (_: unknown, timeoutMs: number) => {
    const endsAtMs = performance.now() + timeoutMs;
    for (;;) {
      const seen = Atomics.load(sent, 0);
      const received = receiveMessageOnPort(port) as { message: ToProgram } | undefined;
      if (received !== undefined) return eventOf(received.message);
      const leftMs = endsAtMs - performance.now();
      if (leftMs <= 0) return BrsInvalid.Instance;
      Atomics.wait(sent, 0, seen, leftMs);
    }
  };
  const top = new TaskNode(port, { relay, service });
  const eventOf = (message: ToProgram) =>
    message === 'back'
      ? new RoSGNodeEvent(top as never, new BrsString('cancel'), BrsBoolean.True)
      : (createUrlEvent(message) as never);
  types.BrsObjects.set('roUrlTransfer', () => createUrlTransfer(port));
  types.BrsObjects.set('roRegistrySection', createRegistrySection, 1);
  const program = join(import.meta.dir, '../../../examples/devices/roku');
  const files = ['SignIn.brs', 'SignInTask.brs'].map((file) => join(program, file));
  const execute = await createExecuteWithScope(files, { root: program });
  execute([join(import.meta.dir, 'roku-main.brs')], [top as never]);
}

await runProgram(workerData as Shared);
