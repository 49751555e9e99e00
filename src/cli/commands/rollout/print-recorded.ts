// Prints recorded history for other programs.
import type { Io } from '#lib/terminal/io.ts'
import { type WholeForm, printWhole } from '../../get/whole.ts'

/** JSON lines, one object each, for a SIEM and for pipes. */
export async function printed(io: Io, form: WholeForm | 'lines', all: readonly unknown[]): Promise<void> {
  if (form === 'lines') for (const one of all) io.out(`${JSON.stringify(one)}\n`)
  else await printWhole(io, form, all)
}
