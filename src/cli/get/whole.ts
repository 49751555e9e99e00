// Prints results for other programs: whole objects, or custom rows, as JSON or YAML.
import { shownJson } from '#lib/printable.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Io } from '#lib/terminal/io.ts'
import { forReader } from './asked.ts'
import { withoutManagers } from './without-managers.ts'

export const WHOLE_FORMS = ['json', 'yaml'] as const
export type WholeForm = (typeof WHOLE_FORMS)[number]

export async function printWhole(io: Io, form: WholeForm, value: unknown): Promise<void> {
  const text = form === 'json' ? shownJson(value) : (await import('yaml')).stringify(value)
  io.out(forReader(io, text))
}

/** A List, as kubectl prints several objects. */
export const listOf = (objects: readonly KubeObject[]) => ({
  apiVersion: 'v1',
  kind: 'List',
  items: objects.map(withoutManagers),
})
