// Prints recorded history for other programs.
import { shownJsonLine } from '#lib/printable.ts'
import { defined } from '#lib/defined.ts'
import type { Life } from '#history/ask/lives.ts'
import type { Subject } from '#history/store/names.ts'
import { GAP_REASONS } from '#history/store/writer.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type WholeForm, printWhole } from '../../get/whole.ts'

/** JSON lines, one object each, for a SIEM and for pipes. */
export async function printed(io: Io, form: WholeForm | 'lines', all: readonly unknown[]): Promise<void> {
  if (form === 'lines') for (const one of all) io.out(`${shownJsonLine(one)}\n`)
  else await printWhole(io, form, all)
}

/** Values as data, and objects by name. Times are milliseconds since 1970, as in an export. */
export const lifeData = ({ range, rows, gaps, ...life }: Life) => ({
  ...life,
  ...range,
  rows: rows.map(({ observed, reported, subject, topic, value }) => ({
    observed,
    ...defined({ reported }),
    object: objectText(subject),
    uid: subject.uid,
    topic,
    ...(value !== undefined && { value: JSON.parse(value) as unknown }),
  })),
  gaps: gaps.map(({ subject, why, ...gap }) => ({
    ...defined(gap),
    ...(subject !== undefined && { object: objectText(subject) }),
    why: GAP_REASONS[why],
  })),
})

const objectText = ({ kind, namespace, name }: Subject): string =>
  [kind.toLowerCase(), ...(namespace === '' ? [] : [namespace]), name].join('/')
