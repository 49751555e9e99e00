// DER, the encoding of keys, certificates and signing requests (X.690): written from tagged parts, parsed strictly. Invariant: a parsed value lies inside its
// container, and its length has DER's unique encoding.

/** Tags of X.690; constructed ones have the bit 0x20. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** A certificate is about 500 bytes, one with many names a few thousand; two length bytes are enough. */
const LONGEST = 0xff_ff

export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length > LONGEST) throw new RangeError(`a value of ${length} bytes is too long for DER`)
  // Up to 127 the length is its own encoding; beyond, the number of length bytes comes first.
  const bytes = length < 0x80 ? [length] : length < 0x1_00 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...bytes]), content])
}

export const sequence = (...parts: readonly Buffer[]): Buffer => der(TAG.sequence, ...parts)
export const objectId = (hex: string): Buffer => der(TAG.objectId, Buffer.from(hex, 'hex'))
export const octets = (...parts: readonly Buffer[]): Buffer => der(TAG.octetString, ...parts)
/** For whole bytes. */
export const bitString = (bytes: Buffer): Buffer => der(TAG.bitString, Buffer.from([0]), bytes)

export function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** One parsed value. */
export interface DerValue {
  readonly tag: number
  /** Tag, length and content. */
  readonly whole: Buffer
  readonly content: Buffer
}

/** The sequence of values that fills these bytes; throws a SyntaxError if they do not parse. */
export function readDer(bytes: Buffer): readonly DerValue[] {
  const values: DerValue[] = []
  for (let at = 0; at < bytes.length;) {
    const value = valueAt(bytes, at)
    values.push(value)
    at += value.whole.length
  }
  return values
}

const broken = (what: string): SyntaxError => new SyntaxError(`not DER: ${what}`)

function valueAt(bytes: Buffer, at: number): DerValue {
  const [tag = 0, first] = bytes.subarray(at, at + 2)
  if (first === undefined) throw broken('truncated inside a value')
  if ((tag & 0x1f) === 0x1f) throw broken('a tag of more than one byte')
  const more = first < 0x80 ? 0 : first & 0x7f
  if (first === 0x80 || more > 2) throw broken('a length of an unknown or too large size')
  const start = at + 2 + more
  if (start > bytes.length) throw broken('truncated inside a length')
  const length = more === 0 ? first : bytes.readUIntBE(at + 2, more)
  if (more > 0 && length < (more === 1 ? 0x80 : 0x1_00)) throw broken('a length encoded in more bytes than needed')
  if (start + length > bytes.length) throw broken('a value longer than its container')
  return { tag, whole: bytes.subarray(at, start + length), content: bytes.subarray(start, start + length) }
}

/** The values inside a constructed one, which must have this tag. */
export function inside(value: DerValue | undefined, tag: number = TAG.sequence): readonly DerValue[] {
  if (value?.tag !== tag) throw broken(`tag ${value?.tag ?? 'none'} where ${tag} is expected`)
  return readDer(value.content)
}

/** Twice the longest known ones. The time to read a number grows with the square of its length. */
const LONGEST_ID = 128

/** An object identifier in dotted form; throws a SyntaxError for anything else. */
export function dottedId(value: DerValue | undefined): string {
  const last = value?.content.at(-1)
  if ((value?.content.length ?? 0) > LONGEST_ID) throw broken('an object identifier longer than any')
  if (value?.tag !== TAG.objectId || last === undefined || last >= 0x80) throw broken('no object identifier')
  const numbers: bigint[] = []
  let open = 0n
  for (const byte of value.content) {
    if (open === 0n && byte === 0x80) throw broken('a number encoded in more bytes than needed')
    open = (open << 7n) | BigInt(byte & 0x7f)
    if (byte >= 0x80) continue
    numbers.push(open)
    open = 0n
  }
  const [both = 0n, ...rest] = numbers
  // The first two arcs share a number: 40 for each of the first two roots, the rest for the third.
  const root = both < 80n ? both / 40n : 2n
  return [root, both - root * 40n, ...rest].join('.')
}

/** The bytes of a PEM block with one of these labels; throws a SyntaxError if there is none. */
export function bytesOfPem(text: string, ...labels: readonly string[]): Buffer {
  for (const label of labels) {
    const body = bodyOfPem(text, label)
    if (body !== undefined) return Buffer.from(body, 'base64')
  }
  throw new SyntaxError(`no PEM block ${labels.join(' or ')}`)
}

const bodyOfPem = (text: string, label: string): string | undefined =>
  new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`).exec(text)?.[1]

/** The same for a text with exactly one block: with two, another reader may use the other one. */
export function bytesOfOnlyPem(text: string, label: string): Buffer {
  const begins = text.split('-----BEGIN').length - 1
  if (begins > 1) throw new SyntaxError(`${begins} PEM blocks where one is wanted`)
  const body = bodyOfPem(text, label)
  if (body === undefined) throw new SyntaxError(`no PEM block ${label}`)
  const bytes = Buffer.from(body, 'base64')
  // Decoders differ in what they ignore.
  if (bytes.toString('base64') !== body.replace(/\s+/g, '')) throw new SyntaxError(`a PEM block ${label} not in base64`)
  return bytes
}
