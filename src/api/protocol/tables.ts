// All tables of the protocol, for documentation and checks.
import type { Table } from './table.ts'
import { canaryTable } from './canary.ts'
import { jobTable, stepTable } from './job.ts'
import { maintenanceTable } from './maintenance.ts'
import { permitTable, slotTable } from './permit.ts'
import { orderTable, switchTable } from './switch.ts'
import { sliceTable } from './slice.ts'

export const TABLES: readonly Table<string, string, string>[] = [
  sliceTable,
  permitTable,
  slotTable,
  orderTable,
  switchTable,
  jobTable,
  stepTable,
  canaryTable,
  maintenanceTable,
]
