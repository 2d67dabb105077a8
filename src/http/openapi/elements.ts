/** The elements of the API document. https://spec.openapis.org/oas/v3.1.1.html */
import { REFUSALS, type TextRefusalName } from '../responses.ts';

export type Element = Readonly<Record<string, unknown>>;

const described = (element: Element) => (description?: string) =>
  description === undefined ? element : { ...element, description };

export const boolean = described({ type: 'boolean' });
export const positive = described({ type: 'integer', minimum: 1 });
export const string = described({ type: 'string' });
export const nonEmpty = described({ type: 'string', minLength: 1 });
export const uri = described({ type: 'string', format: 'uri' });
export const matching = (pattern: string, description?: string) =>
  described({ type: 'string', pattern })(description);
export const arrayOf = (items: Element, description?: string) =>
  described({ type: 'array', items })(description);

/** A schema of schemas.ts. */
export const schema = (name: string, description?: string) =>
  described({ $ref: `#/components/schemas/${name}` })(description);

/** An object that may have further members. A member whose name ends in `?` is optional. */
export function open(members: Readonly<Record<string, Element>>) {
  const properties = Object.fromEntries(
    Object.entries(members).map(([name, element]) => [name.replace('?', ''), element]),
  );
  const required = Object.keys(members).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties, required };
}

/** An object that has no other members. */
export const closed = (members: Readonly<Record<string, Element>>, description?: string) =>
  described({ ...open(members), additionalProperties: false })(description);

export const query = (name: string, description: string, schema: Element = string()) => ({
  name,
  in: 'query',
  description,
  schema,
});

/** A part of the path. */
export const segment = (name: string, description: string, example: string) => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: string(),
  example,
});

/** A response, or a body that a request may have. */
export const message = (description: string, content?: Element, headers?: Element) => ({
  description,
  ...(headers && { headers }),
  ...(content && { content }),
});

export const json = (schema: Element, example?: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
});

/** A response whose JSON is a schema of schemas.ts. */
export const reply = (description: string, name: string, example?: unknown, headers?: Element) =>
  message(description, json(schema(name), example), headers);

/** The lines of text of these refusals. */
export const lines = (...names: readonly TextRefusalName[]) => ({
  'text/plain': { schema: { enum: names.map((name) => `${REFUSALS[name].text}\n`) } },
});

const SECONDS = { description: 'Seconds', schema: positive() };

export const RETRY_AFTER = { 'Retry-After': { ...SECONDS, required: true } };
export const MAY_RETRY_AFTER = { 'Retry-After': SECONDS };

/** What these refusals become: one response for each status. */
export function refusals(...names: readonly TextRefusalName[]) {
  const responses = names.map((name) => {
    const { status } = REFUSALS[name];
    const same = names.filter((each) => REFUSALS[each].status === status);
    const texts = same.map((each) => REFUSALS[each].text);
    const isTimed = status === 429 || name === 'undecided';
    const retry = isTimed ? RETRY_AFTER : status === 503 ? MAY_RETRY_AFTER : undefined;
    return [status, message(texts.join('; '), lines(...same), retry)] as const;
  });
  return Object.fromEntries(responses);
}
