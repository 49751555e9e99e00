// All tables of the protocol, for those who look at them as a whole: documentation, checks.
import type { Table } from './table.ts'
import { canaryTable } from './canary.ts'
import { jobTable, stepTable } from './job.ts'
import { permitTable, slotTable } from './permit.ts'
import { orderTable, switchTable } from './switch.ts'
import { waveTable } from './wave.ts'

export const TABLES: readonly Table<string, string, string>[] = [
  waveTable,
  permitTable,
  slotTable,
  orderTable,
  switchTable,
  jobTable,
  stepTable,
  canaryTable,
]
