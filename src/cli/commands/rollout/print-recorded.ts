// Prints what was recorded, for other programs.
import type { Io } from '#lib/terminal/io.ts'
import { type WholeForm, printWhole } from '../../get/whole.ts'

/** Lines are for a SIEM and for pipes: one object each. */
export async function printed(io: Io, form: WholeForm | 'lines', all: readonly unknown[]): Promise<void> {
  if (form === 'lines') for (const one of all) io.out(`${JSON.stringify(one)}\n`)
  else await printWhole(io, form, all)
}
