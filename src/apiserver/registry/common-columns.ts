// The columns that tables of every kind have.
import { ageCell } from '../table/age.ts'
import { metadataDescription } from '../table/descriptions.ts'
import type { TableColumn } from './served.ts'

export const NAME: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: metadataDescription.name,
  priority: 0,
  cell: (o) => o.metadata.name ?? '',
}
export const AGE: TableColumn = {
  name: 'Age',
  type: 'string',
  format: '',
  description: metadataDescription.creationTimestamp,
  priority: 0,
  cell: (o, now) => ageCell(o.metadata.creationTimestamp, now),
}
