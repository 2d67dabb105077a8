/** The elements of the API document. https://spec.openapis.org/oas/v3.1.1.html */
import { REFUSALS, type TextRefusalName } from '../responses.ts';

export type Element = Readonly<Record<string, unknown>>;

/** A named component; `description` replaces its own. */
const referenceTo = (kind: string) => (name: string, description?: string) =>
  described({ $ref: `#/components/${kind}/${name}` }, description);

export const header = referenceTo('headers');
export const parameter = referenceTo('parameters');
export const response = referenceTo('responses');
export const schema = referenceTo('schemas');

export const boolean = (description?: string) => described({ type: 'boolean' }, description);
export const positive = (description?: string) =>
  described({ type: 'integer', minimum: 1 }, description);
export const string = (description?: string) => described({ type: 'string' }, description);
export const nonEmpty = (description?: string) =>
  described({ type: 'string', minLength: 1 }, description);
export const uri = (description?: string) =>
  described({ type: 'string', format: 'uri' }, description);
export const matching = (pattern: string, description?: string) =>
  described({ type: 'string', pattern }, description);
export const arrayOf = (items: Element, description?: string) =>
  described({ type: 'array', items }, description);

/** An object that may have further members. A name with a `?` is of one that may be absent. */
export function open(members: Readonly<Record<string, Element>>): Element {
  const entries = Object.entries(members);
  const properties = Object.fromEntries(
    entries.map(([name, element]) => [name.replace('?', ''), element]),
  );
  const required = Object.keys(members).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties, required };
}

/** An object that has no other members. */
export const closed = (members: Readonly<Record<string, Element>>, description?: string) =>
  described({ ...open(members), additionalProperties: false }, description);

export const query = (name: string, description: string, schema = string()) => ({
  name,
  in: 'query',
  description,
  schema,
});

/** The body that a request must have. */
export const body = (description: string, content: Element) => ({
  required: true,
  description,
  content,
});

/** A response, or a body that a request may have. */
export const message = (description: string, content?: Element, headers?: Element) => ({
  description,
  ...(headers && { headers }),
  ...(content && { content }),
});

export const json = (schema: Element, examples?: Element) => ({
  'application/json': {
    schema,
    ...(examples && {
      examples: Object.fromEntries(
        Object.entries(examples).map(([name, value]) => [name, { value }]),
      ),
    }),
  },
});

/** What standard clients send. */
export const formOrJson = (name: string) => ({
  'application/x-www-form-urlencoded': { schema: schema(name) },
  ...json(schema(name)),
});

export const textOf = (schema: Element) => ({ 'text/plain': { schema } });

/** The lines of text of these refusals. */
export const linesOf = (...refusals: readonly TextRefusalName[]) => ({
  enum: refusals.map((refusal) => `${REFUSALS[refusal].text}\n`),
});

export const refusal = (...refusals: readonly TextRefusalName[]) => textOf(linesOf(...refusals));

export const NO_CACHE = { Pragma: header('NoCache') };

function described(element: Element, description: string | undefined): Element {
  return description === undefined ? element : { ...element, description };
}
