// Reads the newest rows of tables in an SQLite file that is too large to be read whole: page by page from the end of each table, within bounds. No lock is taken;
// a file that changes meanwhile is not believed. The format: https://www.sqlite.org/fileformat2.html
export type Cell = string | bigint | number | null

export interface NewestRows {
  readonly columns: readonly string[]
  /** The newest one first. */
  readonly rows: readonly (readonly Cell[])[]
  /** Older rows may exist that were not read. */
  readonly isCut: boolean
}

export interface EndLimits {
  /** Pages of each table, and of the list of tables. */
  readonly pages: number
  /** Whether this row, and all before it, may be left out. */
  readonly isOld: (columns: readonly string[], row: readonly Cell[]) => boolean
}

/** Exactly this many bytes at this offset, or it throws. */
export type ReadAt = (offset: number, bytes: number) => Promise<Buffer>

const HEADER_BYTES = 100
const MAGIC = 'SQLite format 3\0'
const CHANGES_AT = 24
const ENCODING_AT = 56
const UTF8 = 1
const [INTERIOR, LEAF] = [0x05, 0x0d]
/** Of a tree with two billion rows. */
const MOST_LEVELS = 12
const MOST_COLUMNS = 64

/** Undefined: there is no such table. A view, an index or a table in another form is none. */
export async function newestRows(
  read: ReadAt,
  names: readonly string[],
  limits: EndLimits,
): Promise<ReadonlyMap<string, NewestRows>> {
  const header = await read(0, HEADER_BYTES)
  const pages = new Pages(read, header)
  const found = new Map<string, NewestRows>()
  const schema = await collect(pages, 1, { pages: limits.pages, isOld: () => false }, [])
  for (const [type, name, , root, sql] of schema.rows) {
    if (type !== 'table' || typeof name !== 'string' || typeof sql !== 'string' || !names.includes(name)) continue
    const columns = columnsOf(sql)
    if (columns === undefined || typeof root !== 'bigint') continue
    found.set(name, await collect(pages, Number(root), limits, columns))
  }
  const after = await read(0, HEADER_BYTES)
  if (!after.subarray(CHANGES_AT, CHANGES_AT + 4).equals(header.subarray(CHANGES_AT, CHANGES_AT + 4)))
    throw new Error('the record changed while it was read')
  return found
}

class Pages {
  readonly usable: number
  readonly #read: ReadAt
  readonly #size: number

  constructor(read: ReadAt, header: Buffer) {
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC || header.readUInt32BE(ENCODING_AT) !== UTF8)
      throw new Error('not an SQLite file in UTF-8')
    const size = header.readUInt16BE(16)
    this.#size = size === 1 ? 65_536 : size
    this.usable = this.#size - header.readUInt8(20)
    if (this.#size < 512 || this.usable < 480) throw new Error(`pages of ${this.#size} bytes`)
    this.#read = read
  }

  /** From the second header on; the first page begins with that of the file. */
  async page(number: number): Promise<{ readonly page: Buffer; readonly start: number }> {
    if (number < 1) throw new Error('a page without a number')
    return { page: await this.#read((number - 1) * this.#size, this.#size), start: number === 1 ? HEADER_BYTES : 0 }
  }
}

async function collect(
  pages: Pages,
  root: number,
  { pages: most, isOld }: EndLimits,
  columns: readonly string[],
): Promise<NewestRows> {
  const rows: (readonly Cell[])[] = []
  let left = most
  let isCut = false
  /** Returns whether older rows are still wanted. */
  const visit = async (number: number, level: number): Promise<boolean> => {
    if (level > MOST_LEVELS) throw new Error('a tree without an end')
    if (left-- <= 0) {
      isCut = true
      return false
    }
    const { page, start } = await pages.page(number)
    const kind = page.readUInt8(start)
    if (kind !== INTERIOR && kind !== LEAF) throw new Error(`page ${number} is not of a table`)
    const cells = cellsOf(page, start)
    if (kind === INTERIOR) {
      const children = [...cells.map((at) => page.readUInt32BE(at)), page.readUInt32BE(start + 8)]
      for (const child of children.toReversed()) if (!(await visit(child, level + 1))) return false
      return true
    }
    for (const at of cells.toReversed()) {
      const row = rowAt(page, at, pages.usable)
      if (isOld(columns, row)) return false
      rows.push(row)
    }
    return true
  }
  await visit(root, 0)
  return { columns, rows, isCut }
}

function cellsOf(page: Buffer, start: number): readonly number[] {
  const first = start + (page.readUInt8(start) === INTERIOR ? 12 : 8)
  return Array.from({ length: page.readUInt16BE(start + 3) }, (_, i) => page.readUInt16BE(first + 2 * i))
}

/** Its values; of a text that continues on another page the beginning. The first column of the tables that are read is the row's number, which is not stored in the row. */
function rowAt(page: Buffer, at: number, usable: number): readonly Cell[] {
  const [length, afterLength] = varint(page, at)
  const [id, begin] = varint(page, afterLength)
  const payload = page.subarray(begin, begin + localBytes(Number(length), usable))
  const [headerBytes, first] = varint(payload, 0)
  const types: number[] = []
  for (let i = first; i < Number(headerBytes) && types.length < MOST_COLUMNS;) {
    const [type, next] = varint(payload, i)
    types.push(Number(type))
    i = next
  }
  let value = Number(headerBytes)
  return types.map((type, column) => {
    const from = value
    value += bytesOf(type)
    if (column === 0 && type === 0) return BigInt.asIntN(64, id)
    return cellOf(type, payload, from)
  })
}

/** What of a row is on its own page. */
function localBytes(length: number, usable: number): number {
  if (length <= usable - 35) return length
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const most = least + ((length - least) % (usable - 4))
  return most <= usable - 35 ? most : least
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
const FLOAT = 7
const ZERO = 8
const FIRST_TEXT = 12

const bytesOf = (type: number): number => INTEGER_BYTES[type] ?? Math.max(0, Math.floor((type - FIRST_TEXT) / 2))

function cellOf(type: number, payload: Buffer, from: number): Cell {
  if (type === 0) return null
  if (type === ZERO || type === ZERO + 1) return BigInt(type - ZERO)
  const bytes = payload.subarray(from, from + bytesOf(type))
  if (type < FIRST_TEXT && bytes.length < bytesOf(type)) return null
  if (type === FLOAT) return bytes.readDoubleBE()
  if (type < ZERO) return BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`))
  return type % 2 === 1 ? bytes.toString('utf8') : null
}

/** One to nine bytes, the high bit of the first eight says that another follows. */
function varint(bytes: Buffer, at: number): readonly [value: bigint, next: number] {
  let value = 0n
  for (let i = 0; i < 8; i++) {
    const byte = bytes.readUInt8(at + i)
    value = value * 128n + BigInt(byte % 128)
    if (byte < 128) return [value, at + i + 1]
  }
  return [value * 256n + BigInt(bytes.readUInt8(at + 8)), at + 9]
}

/** Of a table as rasdaemon makes them: names and types, no constraint with commas. */
function columnsOf(sql: string): readonly string[] | undefined {
  const [, list] = /^create table "?\w+"? ?\(([\w ,]{1,4000})\)$/i.exec(sql.trim().replaceAll(/\s+/g, ' ')) ?? []
  const names = list?.split(',').map((column) => /^\w+/.exec(column.trim())?.[0] ?? '')
  return names === undefined || names.length > MOST_COLUMNS || names.includes('') ? undefined : names
}
