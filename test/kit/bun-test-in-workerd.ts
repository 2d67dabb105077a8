/** What the store suite uses of `bun:test`, inside workerd. */

type Body = (...args: never[]) => unknown;

const names: string[] = [];
const tests: { readonly name: string; readonly run: () => unknown }[] = [];
const afterEachTest: (() => void)[] = [];

export function describe(name: string, define: () => void): void {
  names.push(name);
  define();
  names.pop();
}

export function test(name: string, run: () => unknown): void {
  tests.push({ name: [...names, name].join(' '), run });
}

test.each =
  (cases: readonly unknown[]) =>
  (name: string, run: Body): void => {
    for (const [at, each] of cases.entries()) {
      const args = Array.isArray(each) ? each : [each];
      test(`${name} (${at})`, () => run(...(args as never[])));
    }
  };

export function afterEach(run: () => void): void {
  afterEachTest.push(run);
}

/** Runs every test, and returns those that fail and how. */
export async function runTests() {
  const failures: string[] = [];
  for (const { name, run } of tests) {
    try {
      await run();
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    for (const end of afterEachTest) end();
  }
  return { tests: tests.length, failures };
}

class Any {
  constructor(readonly type: (value: unknown) => unknown) {}
}

export function expect(got: unknown) {
  const check = (isMet: boolean, what: string, expected?: unknown) => {
    if (!isMet) throw new Error(`${JSON.stringify(got)} ${what} ${JSON.stringify(expected)}`);
  };
  return {
    toBe: (expected: unknown) => check(Object.is(got, expected), 'is not', expected),
    toEqual: (expected: unknown) => check(isEqual(got, expected), 'is not equal to', expected),
    toMatchObject: (expected: unknown) =>
      check(isEqual(got, expected, { isPart: true }), 'does not match', expected),
    toBeDefined: () => check(got !== undefined, 'is not defined'),
    toBeUndefined: () => check(got === undefined, 'is not undefined'),
    toHaveLength: (length: number) =>
      check((got as { length: number }).length === length, 'has not the length', length),
  };
}

expect.any = (type: (value: unknown) => unknown) => new Any(type);
expect.unreachable = (): never => {
  throw new Error('unreachable');
};

/** As in `bun:test`, a member that is undefined is as good as none. */
function isEqual(got: unknown, expected: unknown, options = { isPart: false }): boolean {
  if (expected instanceof Any) return Object(got) instanceof expected.type;
  if (!isObject(got) || !isObject(expected)) return Object.is(got, expected);
  if (Array.isArray(got) !== Array.isArray(expected)) return false;
  const asked = Object.keys(expected);
  const all = options.isPart && !Array.isArray(got) ? asked : [...asked, ...Object.keys(got)];
  return all.every((name) => isEqual(got[name], expected[name], options));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
