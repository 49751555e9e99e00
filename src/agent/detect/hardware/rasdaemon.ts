// What rasdaemon recorded since boot, where it runs: errors of memory, processors and PCIe with the names that it knows for their parts.
import type { DatabaseSync } from 'node:sqlite'
import { sqliteCode } from '#lib/sqlite-code.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'
import { type Cell, newestRows, type ReadAt } from './sqlite-end.ts'

export const RAS_FILES: readonly string[] = [
  '/var/lib/rasdaemon/ras-mc_event.db',
  '/usr/local/var/lib/rasdaemon/ras-mc_event.db',
]

type RasType = 'MemoryFaulty' | 'CPUFaulty' | 'PCIeFaulty'

interface RasTable {
  readonly type: RasType
  readonly name: string
  /** Columns of the time and of the part. */
  readonly columns: string
  readonly where: string
  readonly what: string
}

/** Bit 61 of a machine check's status: not corrected. */
const UNCORRECTED_BIT = '2305843009213693952'

const TABLES: readonly RasTable[] = [
  {
    type: 'MemoryFaulty',
    name: 'mc_event',
    columns: 'timestamp as at, label as part',
    where: "err_type in ('Uncorrected', 'Fatal')",
    what: 'uncorrectable memory errors',
  },
  {
    type: 'MemoryFaulty',
    name: 'memory_failure_event',
    columns: "timestamp as at, 'page ' || pfn as part",
    where: "action_result in ('Failed', 'Ignored')",
    what: 'lost, the kernel could not recover it',
  },
  {
    type: 'CPUFaulty',
    name: 'mce_record',
    columns: "timestamp as at, 'CPU ' || cpu || ' ' || coalesce(bank_name, '') as part",
    where: `(status & ${UNCORRECTED_BIT}) != 0`,
    what: 'a machine check that was not corrected',
  },
  {
    type: 'PCIeFaulty',
    name: 'aer_event',
    columns: 'timestamp as at, dev_name as part',
    where: "err_type = 'Uncorrected (Fatal)'",
    what: 'a fatal PCIe error',
  },
]

const MOST_ROWS = 64
const MAX_PART = 80

/** Older versions have fewer tables. A table of this name that is a view, or lacks a column, is not rasdaemon's. */
function rowsOf(database: DatabaseSync, { name, columns, where }: RasTable): readonly Record<string, unknown>[] {
  const kind = database.prepare('select type from sqlite_schema where name = ?').get(name)
  if (kind?.['type'] !== 'table') return []
  try {
    return database.prepare(`select ${columns} from ${name} where ${where} order by id desc limit ${MOST_ROWS}`).all()
  } catch (error) {
    // A missing column. A record that is corrupt has other codes.
    if (sqliteCode(error) === SQLITE_ERROR) return []
    throw error
  }
}

const SQLITE_ERROR = 1

/** The faults in one record, by condition. */
export type RasFaults = ReadonlyMap<RasType, ReadonlySet<string>>

export function rasFaults(database: DatabaseSync, bootedAtMs: number): RasFaults {
  const found = new Map<RasType, Set<string>>([
    ['MemoryFaulty', new Set()],
    ['CPUFaulty', new Set()],
    ['PCIeFaulty', new Set()],
  ])
  for (const table of TABLES)
    for (const { at, part } of rowsOf(database, table)) {
      // "2026-01-31 12:00:00 +0100". An unreadable time tells nothing about this boot.
      const isOfBoot = typeof at === 'string' && Date.parse(at) >= bootedAtMs
      if (isOfBoot && typeof part === 'string')
        found.get(table.type)?.add(`${part.trim().slice(0, MAX_PART)}: ${table.what}`)
    }
  return found
}

const MOST_PAGES = 512
const NAMES = TABLES.map(({ name }) => name)

/**
 * The same of a record that is too large to be read whole: what it says about this boot, from the end of each table. `before`: what was found earlier in this boot
 * stays where a table has more pages than are read.
 */
export async function rasFaultsAtEnd(
  read: ReadAt,
  {
    database,
    bootedAtMs,
    before,
  }: { readonly database: DatabaseSync; readonly bootedAtMs: number; readonly before: RasFaults },
): Promise<RasFaults> {
  const isOld = (columns: readonly string[], row: readonly Cell[]): boolean => {
    const at = row[columns.indexOf('timestamp')]
    return typeof at === 'string' && Date.parse(at) < bootedAtMs
  }
  const tables = await newestRows(read, NAMES, { pages: MOST_PAGES, isOld })
  for (const [name, { columns, rows }] of tables) {
    database.exec(`create table ${name} (${columns.join(', ')})`)
    const insert = database.prepare(`insert into ${name} values (${columns.map(() => '?').join(', ')})`)
    database.exec('begin')
    for (const row of rows) insert.run(...columns.map((_, i) => row[i] ?? null))
    database.exec('commit')
  }
  const found = rasFaults(database, bootedAtMs)
  if (![...tables.values()].some(({ isCut }) => isCut)) return found
  return new Map([...found].map(([type, faults]) => [type, new Set([...faults, ...(before.get(type) ?? [])])]))
}

/** A host may have the record of an earlier installation too: what any of them says counts. */
export function judgeRas(records: readonly RasFaults[]): readonly Reading[] {
  const calm = { reason: 'NoErrorRecorded', message: 'rasdaemon recorded no such error since boot' }
  return (['MemoryFaulty', 'CPUFaulty', 'PCIeFaulty'] as const).map((type) =>
    readingOf({ type, calm }, [...new Set(records.flatMap((r) => [...(r.get(type) ?? [])]))].toSorted()),
  )
}
