/** Checks answers against the API document (docs/api.md): the relay does what the document says. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020';

/** An answer, and the request that it answers. */
interface Seen {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Node = Readonly<Record<string, unknown>>;

/** A node of the document and the JSON pointer to it. RFC 6901. */
interface Described {
  readonly node: Node;
  readonly pointer: string;
}

/** The function throws if the document does not describe an answer. */
export function createApiCheck(document: Node) {
  const validatorAt = createValidators(document);
  const findPath = createFindPath(document);

  /** The responses that the document has for this request and status. Undefined: it does not describe the request. */
  function describedFor({ method, path, status }: Seen): Described[] | undefined {
    const found = findPath(path);
    const operation = found && at(document, found, method.toLowerCase());
    if (!operation) return undefined;
    const own = at(document, `${operation.pointer}/responses`, String(status));
    return [own, at(document, '/x-any-path', String(status))].filter(isDefined);
  }

  function problemsOf(what: string, value: unknown, validate: ValidateFunction): string[] {
    if (validate(value)) return [];
    // Not the value: it may be a secret.
    return (validate.errors ?? []).map(
      ({ instancePath, message }) => `${what}${instancePath} ${message}`,
    );
  }

  function findInHeaders(pointer: string, { headers }: Seen): string[] {
    const names = Object.keys(at(document, pointer)?.node ?? {});
    return names.flatMap((name) => {
      const described = at(document, pointer, name);
      const value = headers[name.toLowerCase()];
      if (described === undefined) return [`${name} is not in the document`];
      if (value === undefined) return described.node.required ? [`${name} is missing`] : [];
      const schema = `${described.pointer}/schema`;
      const isInteger = at(document, schema)?.node.type === 'integer';
      return problemsOf(name, isInteger ? Number(value) : value, validatorAt(schema));
    });
  }

  function findInBody({ content }: Node, pointer: string, seen: Seen): string[] {
    const { method, headers, body } = seen;
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
    if (content === undefined || method === 'HEAD') return body === '' ? [] : ['there is a body'];
    const media = isNode(content) ? content[type] : undefined;
    if (!isNode(media)) return [`the type is '${type}'`];
    // A picture has no schema in OpenAPI 3.1.
    if (media.schema === undefined) return [];
    const validate = validatorAt(`${pointer}/${escapePointer(type)}/schema`);
    return problemsOf('body', type === 'application/json' ? JSON.parse(body) : body, validate);
  }

  function findProblems(seen: Seen): string[] {
    const general = findInHeaders('/x-every-response/headers', seen);
    const described = isForBrowser(seen) ? undefined : describedFor(seen);
    if (described === undefined) return general;
    const problems = described.map(({ node, pointer }) => [
      ...general,
      ...findInHeaders(`${pointer}/headers`, seen),
      ...findInBody(node, `${pointer}/content`, seen),
    ]);
    if (problems.some(({ length }) => length === 0)) return [];
    return problems[0] ?? ['the document has no such answer'];
  }

  return async ({ method, url }: Request, answer: Response): Promise<void> => {
    const { status } = answer;
    const headers = Object.fromEntries(answer.headers);
    const path = new URL(url).pathname;
    const body = answer.body === null ? '' : await answer.clone().text();
    const problems = findProblems({ method, path, status, headers, body });
    if (problems.length === 0) return;
    throw new Error(`not in the API document: ${method} ${path} ${status}: ${problems.join('; ')}`);
  };
}

/** A page or a redirect, of which the document says only what every answer has. */
const isForBrowser = ({ status, headers }: Seen) =>
  Math.floor(status / 100) === 3 || /^text\/html/.test(headers['content-type'] ?? '');

function createValidators(document: Node): (pointer: string) => ValidateFunction {
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

/** The pointer to the path item of a request, the most exact one, with the relay's base path or without. */
function createFindPath(document: Node): (path: string) => string | undefined {
  const [server] = Array.isArray(document.servers) ? document.servers : [];
  const base = isNode(server) ? new URL(String(server.url)).pathname.replace(/\/$/, '') : '';
  const templates = Object.keys(isNode(document.paths) ? document.paths : {})
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((template) => {
      const pathname = template.replace(/\{(\w+)\}/g, ':$1');
      return { template, pattern: new URLPattern({ pathname: `{${base}}?${pathname}` }) };
    });
  return (path) => {
    const found = templates.find(({ pattern }) => pattern.test({ pathname: path }));
    return found && `/paths/${escapePointer(found.template)}`;
  };
}

/** The node at a pointer, or at a name below it; references are followed. */
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

const escapePointer = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;
const isDefined = <T>(value: T | undefined): value is T => value !== undefined;
