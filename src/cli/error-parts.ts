// Every numbered error there is: those of the programs, and those of the command line.
import { cliErrors } from './cli-errors.ts'
import { holdErrors } from './commands/repair/hold-errors.ts'
import { repairErrors } from './commands/repair/repair-errors.ts'
import { approveErrors } from './commands/rollout/approve-errors.ts'
import { editsErrors } from './commands/rollout/edits-errors.ts'
import { clusterErrors } from './fleet/cluster-errors.ts'
import { exploreErrors } from './fleet/explore-errors.ts'
import { logsErrors } from './follow/log-errors.ts'
import { getErrors } from './get/get-errors.ts'
import { type Entries, type ErrorPart, PROGRAM_ERRORS } from '#programs/error-parts.ts'

const CLI_TABLES: readonly Entries[] = [
  approveErrors,
  cliErrors,
  editsErrors,
  exploreErrors,
  getErrors,
  holdErrors,
  clusterErrors,
  logsErrors,
  repairErrors,
]
const CLI_THOUSANDS = 1

export const ERROR_PARTS: readonly ErrorPart[] = PROGRAM_ERRORS.map((part) =>
  part.thousands === CLI_THOUSANDS ? { ...part, tables: [...part.tables, ...CLI_TABLES] } : part,
)

export const entriesOf = ({ tables }: ErrorPart) =>
  tables.flatMap((t) => Object.values(t)).toSorted((a, b) => Number(a.code.slice(2)) - Number(b.code.slice(2)))
