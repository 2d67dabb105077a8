/** Holds answers to the API document: what the relay says of itself is what it does. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';

/** An answer as it came, and to what. */
export interface Seen {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is wrong with it; empty when it is as the document says. */
export type FindProblems = (seen: Seen) => string[];

type Node = Readonly<Record<string, unknown>>;

/** Of a response in the document: the node, and where it is. */
interface Described {
  readonly node: Node;
  readonly pointer: string;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

export function createFindProblems(document: Node): FindProblems {
  const validatorOf = createValidators(document);
  const findPath = createFindPath(document);

  /** The responses that the document has for this request and status. */
  function describedFor({ method, path, status }: Seen): Described[] {
    const everywhere = at(document, '/x-any-path', String(status));
    const found = findPath(path);
    if (found === undefined) {
      return [everywhere, at(document, '/x-other-paths', String(status))].filter(isThere);
    }
    const operation = at(document, found, method.toLowerCase());
    // No operation for the method: each of the others says what happens then.
    const operations = operation ? [operation] : METHODS.map((name) => at(document, found, name));
    if (operation === undefined && status !== 405) return [everywhere].filter(isThere);
    const own = operations
      .filter(isThere)
      .map(({ pointer }) => at(document, `${pointer}/responses`, String(status)));
    return [...own, everywhere].filter(isThere);
  }

  return (seen) => {
    const described = describedFor(seen);
    const problems = described.map((response) => findIn(document, response, seen, validatorOf));
    if (problems.some(({ length }) => length === 0)) return [];
    return problems[0] ?? ['the document has no such answer'];
  };
}

/** Passes on an answer that is as the document says; throws at any other. */
export type HoldToDocument = (method: string, url: string, answer: Response) => Promise<Response>;

export function createHoldToDocument(document: Node): HoldToDocument {
  const findProblems = createFindProblems(document);
  return async (method, url, answer) => {
    const { status } = answer;
    const headers = Object.fromEntries(answer.headers);
    const path = new URL(url).pathname;
    const body = answer.body === null ? '' : await answer.clone().text();
    const problems = findProblems({ method, path, status, headers, body });
    if (problems.length === 0) return answer;
    throw new Error(`not in the API document: ${method} ${path} ${status}: ${problems.join('; ')}`);
  };
}

type ValidatorOf = (pointer: string) => ValidateFunction;

function findIn(
  document: Node,
  { node, pointer }: Described,
  seen: Seen,
  validatorOf: ValidatorOf,
): string[] {
  return [
    ...findInHeaders(document, `${pointer}/headers`, seen, validatorOf),
    ...findInBody(node, `${pointer}/content`, seen, validatorOf),
  ];
}

function findInHeaders(
  document: Node,
  pointer: string,
  { headers }: Seen,
  validatorOf: ValidatorOf,
): string[] {
  const names = Object.keys(at(document, pointer)?.node ?? {});
  return names.flatMap((name) => {
    const described = at(document, pointer, name);
    const value = headers[name.toLowerCase()];
    if (described === undefined) return [`${name} leads nowhere in the document`];
    if (value === undefined) return described.node.required ? [`${name} is missing`] : [];
    const schema = `${described.pointer}/schema`;
    const isInteger = at(document, schema)?.node.type === 'integer';
    return problemsOf(name, isInteger ? Number(value) : value, validatorOf(schema));
  });
}

function findInBody(
  { content }: Node,
  pointer: string,
  { method, headers, body }: Seen,
  validatorOf: ValidatorOf,
): string[] {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  if (content === undefined || method === 'HEAD') return body === '' ? [] : ['there is a body'];
  const media = isNode(content) ? content[type] : undefined;
  if (!isNode(media)) return [`the type is '${type}'`];
  // A picture has no schema in OpenAPI 3.1.
  if (media.schema === undefined) return [];
  const validate = validatorOf(`${pointer}/${escapePointer(type)}/schema`);
  return problemsOf('body', type === 'application/json' ? parse(body) : body, validate);
}

function problemsOf(what: string, value: unknown, validate: ValidateFunction): string[] {
  if (validate(value)) return [];
  // Not the value: it may be a secret.
  return (validate.errors ?? []).map(
    ({ instancePath, message }) => `${what}${instancePath} ${message}`,
  );
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function createValidators(document: Node): ValidatorOf {
  // The document is more than a schema, and formats are for its readers.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ ...document, $id: 'api' });
  const known = new Map<string, ValidateFunction>();
  return (pointer) => {
    const validate = known.get(pointer) ?? ajv.compile({ $ref: `api#${encodeURI(pointer)}` });
    known.set(pointer, validate);
    return validate;
  };
}

/** The path item of a request's path: the most exact one, below the relay's own base path or not. */
function createFindPath(document: Node): (path: string) => string | undefined {
  const [server] = Array.isArray(document.servers) ? document.servers : [];
  const base = isNode(server) ? new URL(String(server.url)).pathname.replace(/\/$/, '') : '';
  const templates = Object.keys(isNode(document.paths) ? document.paths : {})
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((template) => ({ template, pattern: patternOf(template) }));
  return (path) => {
    const below = path.startsWith(`${base}/`) ? [path.slice(base.length)] : [];
    const isHome = path === base && base !== '';
    for (const candidate of [...below, ...(isHome ? ['/'] : []), path]) {
      const found = templates.find(({ pattern }) => pattern.test(candidate));
      if (found !== undefined) return `/paths/${escapePointer(found.template)}`;
    }
    return undefined;
  };
}

function patternOf(template: string): RegExp {
  const parts = template
    .split(/\{[^}]+\}/)
    .map((part) => part.replace(/[.*+?^$()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

/** What is at a pointer, or at a name below it; a reference is followed. RFC 6901. */
function at(document: Node, pointer: string, name?: string): Described | undefined {
  const whole = name === undefined ? pointer : `${pointer}/${escapePointer(name)}`;
  let node: unknown = document;
  for (const token of whole.split('/').slice(1)) {
    node = isNode(node) ? node[token.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  if (!isNode(node)) return undefined;
  if (typeof node.$ref === 'string') return at(document, node.$ref.slice(1));
  return { node, pointer: whole };
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
