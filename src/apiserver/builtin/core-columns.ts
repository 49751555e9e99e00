// Columns that many kinds share: the name first, the age last.
import { ageCell } from '../table/age.ts'
import { metadataDescription } from '../table/descriptions.ts'
import type { Column } from './kind.ts'

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: metadataDescription.name,
  cell: (o) => o.metadata.name ?? '',
}
export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: metadataDescription.creationTimestamp,
  cell: (o, now) => ageCell(o.metadata.creationTimestamp, now),
}

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}

/** As shown by kubectl. */
export const shortModes = (modes: readonly string[]): string => modes.map((m) => ACCESS_MODES[m] ?? m).join(',')

export const text = (name: string, cell: Column['cell'], priority = 0): Column => ({
  name,
  type: 'string',
  cell,
  priority,
})
