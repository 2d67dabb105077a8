/** What a secret looks like when somebody has encoded it: what a search must look for. */

export interface SecretForm {
  readonly name: string;
  readonly bytes: Buffer;
}

/** What is shorter is found by chance, and proves nothing when it is not found. */
const MIN_BYTES = 8;

/**
 * The secret and the bytes that it stands for, each plain, in hex and in base64,
 * which looks different at each of three places in a longer text.
 */
export function formsOf(secret: string): readonly SecretForm[] {
  const itself = Buffer.from(secret);
  if (itself.length < MIN_BYTES) throw new Error(`too short to look for: ${itself.length} bytes`);
  const forms = [...encodings(itself, ''), ...meanings(secret)];
  const longEnough = forms.filter(({ bytes }) => bytes.length >= MIN_BYTES);
  return withoutRepetition(longEnough.flatMap(withEscapes));
}

/** The bytes that a random secret was made of, if it reads as base64 or hex. */
function meanings(secret: string): SecretForm[] {
  return (['base64url', 'base64', 'hex'] as const).flatMap((encoding) => {
    const bytes = Buffer.from(secret, encoding);
    const isThat = bytes.toString(encoding) === secret;
    return isThat ? encodings(bytes, `decoded from ${encoding}, `) : [];
  });
}

function encodings(bytes: Buffer, prefix: string): SecretForm[] {
  const hex = bytes.toString('hex');
  return [
    { name: `${prefix}plain`, bytes },
    { name: `${prefix}hex`, bytes: Buffer.from(hex) },
    { name: `${prefix}hex`, bytes: Buffer.from(hex.toUpperCase()) },
    ...[0, 1, 2].flatMap((shift) => [
      { name: `${prefix}base64`, bytes: base64Inside(bytes, shift, 'base64') },
      { name: `${prefix}base64url`, bytes: base64Inside(bytes, shift, 'base64url') },
    ]),
  ];
}

/** The characters that hold nothing but the secret when so many bytes stand before it, whatever they are. */
function base64Inside(bytes: Buffer, shift: number, encoding: 'base64' | 'base64url'): Buffer {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString(encoding);
  const first = Math.ceil((shift * 8) / 6);
  const last = Math.floor(((shift + bytes.length) * 8) / 6);
  return Buffer.from(text.slice(first, last));
}

/** As JSON, as Lua's cjson and as an address write it, where that is another text. */
function withEscapes(form: SecretForm): SecretForm[] {
  const text = form.bytes.toString('latin1');
  const json = JSON.stringify(text).slice(1, -1);
  const escaped = new Set([json, json.replaceAll('/', '\\/'), encodeURIComponent(text)]);
  escaped.delete(text);
  const others = [...escaped].map((other) => ({
    name: `${form.name}, escaped`,
    bytes: Buffer.from(other, 'latin1'),
  }));
  return [form, ...others];
}

/** The base64 of what a secret was made of is the secret: the simplest name stays. */
function withoutRepetition(forms: readonly SecretForm[]): SecretForm[] {
  const byText = new Map(forms.toReversed().map((form) => [form.bytes.toString('latin1'), form]));
  return [...byText.values()].toReversed();
}
