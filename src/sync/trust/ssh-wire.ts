// Reads the binary fields of the SSH protocol (RFC 4251): numbers, strings, big integers. Reading past the end is an error, never a guess.

/** Bytes that do not match their format. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

export class WireReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new Malformed('is truncated')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  number(): number {
    return this.take(4).readUInt32BE(0)
  }

  string(): Buffer {
    return this.take(this.number())
  }

  /** The name of an algorithm, a curve or a namespace. */
  text(): string {
    const bytes = this.string()
    if (bytes.some((b) => b < 0x20 || b > 0x7e)) throw new Malformed('has a name with unprintable characters')
    return bytes.toString('latin1')
  }

  /** A positive integer, without its leading zeros. */
  integer(): Buffer {
    const bytes = this.string()
    if ((bytes[0] ?? 0) >= 0x80) throw new Malformed('has a negative number')
    const first = bytes.findIndex((b) => b !== 0)
    return first < 0 ? bytes.subarray(bytes.length) : bytes.subarray(first)
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new Malformed('has bytes after its end')
  }
}

/** One SSH string. */
export function wireString(bytes: Uint8Array | string): Buffer {
  const content = Buffer.from(bytes as Uint8Array)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  return Buffer.concat([length, content])
}

/** A number with exactly this many bytes. */
export function fixedInteger(bytes: Buffer, length: number): Buffer {
  if (bytes.length > length) throw new Malformed('has a number that is too long')
  return Buffer.concat([Buffer.alloc(length - bytes.length), bytes])
}
