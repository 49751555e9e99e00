// Reads objects of an untrusted repository, loose and packed. Sizes are checked first, inflating stops there, and the content must match its hash.
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { applyDelta, deltaSizes } from './delta.ts'
import { Damaged, HEADER_BYTES, compressedBound, inflateExactly, inflateStart } from './inflate.ts'
import { Pack, type PackType } from './pack.ts'

export interface GitObject {
  readonly type: PackType
  readonly content: Buffer
}

/** The object is larger than the reader accepts; nothing was inflated. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
  readonly size: number
  readonly limit: number
  constructor(size: number, limit: number) {
    super(`has ${size} bytes (limit ${limit})`)
    this.size = size
    this.limit = limit
  }
}

export const hashOf = ({ type, content }: GitObject): string =>
  createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')

/** Git creates chains of 50, and at most 4,095 when configured. */
const MAX_CHAIN = 4_095
/** An earlier version of a file may have been larger than the current one. */
const MAX_BASE_BYTES = 64 * 1024 * 1024
/** All deltas and results of one chain together: one second of work. */
const MAX_CHAIN_BYTES = 512 * 1024 * 1024
/**
 * Limit for the deltas alone: an instruction takes two bytes and costs more than the bytes it produces. Git writes a delta only where it is far shorter
 * than the object.
 */
const MAX_DELTA_BYTES = 32 * 1024 * 1024
/** Git repacks long before this. */
const MAX_PACKS = 1_000

interface Chain {
  links: number
  bytes: number
  deltas: number
}

export class ObjectStore {
  readonly #folder: string
  #packs: readonly Pack[] = []
  #known = ''

  /** `folder` is .git/objects. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Undefined when the repository has no such object. */
  read(oid: string, limit: number): GitObject | undefined {
    const found = this.#raw(oid, limit, { links: 0, bytes: 0, deltas: 0 })
    if (found === undefined) return undefined
    if (found.content.length > limit) throw new TooLarge(found.content.length, limit)
    const hash = hashOf(found)
    if (hash !== oid) throw new Damaged(`has the hash ${hash}`)
    return found
  }

  idsWithPrefix(prefix: string, limit: number): readonly string[] {
    const loose = join(this.#folder, prefix.slice(0, 2))
    const names = existsSync(loose) ? readdirSync(loose).map((name) => prefix.slice(0, 2) + name) : []
    const fitting = names.filter((id) => /^[0-9a-f]{40}$/.test(id) && id.startsWith(prefix))
    const packed = this.#allPacks().flatMap((pack) => pack.idsWithPrefix(prefix, limit))
    return [...new Set([...fitting, ...packed])].slice(0, limit)
  }

  #raw(oid: string, limit: number, chain: Chain): GitObject | undefined {
    const loose = this.#loose(oid, limit)
    if (loose !== undefined) return loose
    for (const pack of this.#allPacks()) {
      const offset = pack.offsetOf(oid)
      if (offset !== undefined) return this.#packed(pack, offset, limit, chain)
    }
    return undefined
  }

  #loose(oid: string, limit: number): GitObject | undefined {
    const path = join(this.#folder, oid.slice(0, 2), oid.slice(2))
    if (!existsSync(path)) return undefined
    const fd = openSync(path, 'r')
    try {
      const start = Buffer.alloc(HEADER_BYTES)
      const opened = inflateStart(start.subarray(0, readSync(fd, start, 0, HEADER_BYTES, 0)))
      const [head, type, digits] = /^(commit|tree|blob|tag) (\d{1,15})\0/.exec(opened.toString('latin1', 0, 32)) ?? []
      if (head === undefined) throw new Damaged('has no header')
      const size = Number(digits)
      if (size > limit) throw new TooLarge(size, limit)
      const length = Math.min(fstatSync(fd).size, compressedBound(head.length + size))
      const bytes = Buffer.alloc(length)
      const whole = inflateExactly(bytes.subarray(0, readSync(fd, bytes, 0, length, 0)), head.length + size)
      return { type: type as PackType, content: whole.subarray(head.length) }
    } finally {
      closeSync(fd)
    }
  }

  /** Walks down to the whole object, then applies the deltas on the way back. */
  #packed(pack: Pack, offset: number, limit: number, chain: Chain): GitObject | undefined {
    const deltas: Buffer[] = []
    const count = (bytes: number, most: number) => {
      if (bytes > most) throw new TooLarge(bytes, most)
      chain.bytes += bytes
      if (chain.bytes > MAX_CHAIN_BYTES) throw new TooLarge(chain.bytes, MAX_CHAIN_BYTES)
    }
    let base: GitObject | undefined
    for (let at = offset; base === undefined;) {
      if (++chain.links > MAX_CHAIN) throw new Damaged(`is a chain of more than ${MAX_CHAIN} deltas`)
      const entry = pack.entryAt(at)
      const isFirst = at === offset && chain.links === 1
      if (typeof entry.is !== 'string') chain.deltas += entry.size
      if (chain.deltas > MAX_DELTA_BYTES) throw new TooLarge(chain.deltas, MAX_DELTA_BYTES)
      count(entry.size, isFirst && typeof entry.is === 'string' ? limit : MAX_BASE_BYTES)
      const content = pack.inflate(entry)
      if (typeof entry.is === 'string') base = { type: entry.is, content }
      else {
        const { result } = deltaSizes(content)
        count(result, isFirst ? limit : MAX_BASE_BYTES)
        deltas.push(content)
        if ('baseAt' in entry.is) at = entry.is.baseAt
        else {
          const found = pack.offsetOf(entry.is.base)
          if (found !== undefined) at = found
          else base = this.#raw(entry.is.base, MAX_BASE_BYTES, chain)
          if (found === undefined && base === undefined) throw new Damaged(`needs the missing object ${entry.is.base}`)
        }
      }
    }
    let { content } = base
    for (const delta of deltas.toReversed()) content = applyDelta(content, delta, deltaSizes(delta))
    return { type: base.type, content }
  }

  /** Reads the list again when a fetch or a repack changed the folder. */
  #allPacks(): readonly Pack[] {
    const folder = join(this.#folder, 'pack')
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.idx')) : []
    if (names.length > MAX_PACKS) throw new Damaged(`lies among ${names.length} packs (limit ${MAX_PACKS})`)
    const known = names.join('\n')
    if (known !== this.#known) {
      this.#packs = names.map((name) => new Pack(join(folder, name.slice(0, -'.idx'.length))))
      this.#known = known
    }
    return this.#packs
  }
}
