// Reads the outer form of OpenPGP (RFC 9580, RFC 4880): armor, packets and numbers. Bounded, and only forms that gpg writes today; nothing is guessed.
import { Malformed } from '../ssh-wire.ts'

/** A certificate with some subkeys has 6 KB, a signature 1 KB. */
const MAX_ARMOR_CHARS = 16_384
const MAX_HEADERS = 16
const MAX_PACKETS = 256
/** Of RSA keys, as for SSH. */
const MAX_NUMBER_BITS = 16_384

export const PGP_SIGNATURE = 'PGP SIGNATURE'
export const PGP_KEY = 'PGP PUBLIC KEY BLOCK'

export interface Packet {
  readonly tag: number
  readonly body: Buffer
}

/** The packets of one armored text, and of nothing beside it. */
export function packetsIn(armored: string, label: string): readonly Packet[] {
  const bytes = dearmored(armored, label)
  const packets: Packet[] = []
  for (let at = 0; at < bytes.length;) {
    if (packets.length >= MAX_PACKETS) throw new Malformed(`has more than ${MAX_PACKETS} packets`)
    const { tag, from, length } = headerAt(bytes, at)
    const body = bytes.subarray(from, from + length)
    if (body.length < length) throw new Malformed('is truncated')
    packets.push({ tag, body })
    at = from + length
  }
  return packets
}

interface PacketHeader {
  readonly tag: number
  readonly from: number
  readonly length: number
}

function headerAt(bytes: Buffer, at: number): PacketHeader {
  const first = bytes[at] ?? 0
  if ((first & 0x80) === 0) throw new Malformed('has something that is no packet')
  const byte = (offset: number): number => {
    const found = bytes[at + offset]
    if (found === undefined) throw new Malformed('is truncated')
    return found
  }
  const whole = (offset: number, count: number): number => {
    byte(offset + count - 1)
    return bytes.readUIntBE(at + offset, count)
  }
  if ((first & 0x40) === 0) {
    const kind = first & 3
    if (kind === 3) throw new Malformed('has a packet without a length')
    const count = 1 << kind
    return { tag: (first >> 2) & 15, from: at + 1 + count, length: whole(1, count) }
  }
  const tag = first & 0x3f
  const second = byte(1)
  if (second < 192) return { tag, from: at + 2, length: second }
  if (second < 224) return { tag, from: at + 3, length: ((second - 192) << 8) + byte(2) + 192 }
  // Only data that is written as it is made comes in parts.
  if (second < 255) throw new Malformed('has a packet in parts')
  return { tag, from: at + 6, length: whole(2, 4) }
}

function dearmored(armored: string, label: string): Buffer {
  const [begin, end] = [`-----BEGIN ${label}-----`, `-----END ${label}-----`]
  const text = armored.trim().replaceAll('\r\n', '\n')
  if (text.length > MAX_ARMOR_CHARS) throw new Malformed(`has more than ${MAX_ARMOR_CHARS} characters`)
  const isWhole = text.startsWith(`${begin}\n`) && text.endsWith(`\n${end}`)
  const inside = isWhole ? text.slice(begin.length + 1, -end.length - 1) : ''
  if (!isWhole || inside.includes('-----')) throw new Malformed(`is not one ${label}`)
  const lines = inside.split('\n').map((line) => line.trimEnd())
  const blank = lines.indexOf('')
  const headers = lines.slice(0, Math.max(blank, 0))
  if (blank < 0 || headers.length > MAX_HEADERS || !headers.every((line) => /^[A-Za-z]+: ./.test(line)))
    throw new Malformed('has no blank line between the headers of its armor and its content')
  const content = lines.slice(blank + 1)
  const last = content.at(-1) ?? ''
  const sum = /^=([A-Za-z0-9+/]{4})$/.exec(last)?.[1]
  const base64 = (sum === undefined ? content : content.slice(0, -1)).join('')
  // Node skips what it does not know.
  if (base64.length === 0 || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new Malformed('is not base64')
  const bytes = Buffer.from(base64, 'base64')
  if (sum !== undefined && Buffer.from(sum, 'base64').readUIntBE(0, 3) !== crc24(bytes))
    throw new Malformed('does not match its checksum: it was damaged on the way')
  return bytes
}

function crc24(bytes: Buffer): number {
  let crc = 0xb704ce
  for (const byte of bytes) {
    crc ^= byte << 16
    for (let bit = 0; bit < 8; bit++) {
      crc <<= 1
      if ((crc & 0x1000000) !== 0) crc ^= 0x1864cfb
    }
  }
  return crc & 0xffffff
}

/** Reads the fields of one packet. Reading past the end is an error. */
export class PacketReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  take(length: number): Buffer {
    const taken = this.#bytes.subarray(this.#at, this.#at + length)
    if (taken.length < length) throw new Malformed('is truncated')
    this.#at += length
    return taken
  }

  number(bytes: 1 | 2 | 4): number {
    return this.take(bytes).readUIntBE(0, bytes)
  }

  /** A positive integer, without leading zeros. */
  integer(): Buffer {
    const bits = this.number(2)
    if (bits > MAX_NUMBER_BITS) throw new Malformed(`has a number of ${bits} bits`)
    const bytes = this.take(Math.ceil(bits / 8))
    const first = bytes.findIndex((b) => b !== 0)
    return first < 0 ? bytes.subarray(bytes.length) : bytes.subarray(first)
  }

  /** How far it has read. */
  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  end(): void {
    if (!this.isAtEnd) throw new Malformed('has bytes after its end')
  }
}
