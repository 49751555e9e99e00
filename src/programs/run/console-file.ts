// Reads the console role's file before any request, and reports impossible settings first.
import { createFieldReader } from '#api/field-problems.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import { type ConsoleFile, consoleFileSchema } from '#console/server/sign-in/sign-in-settings.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { Address } from './listeners.ts'

export interface ServedConsole {
  readonly at: Address
  readonly file: ConsoleFile
}

export function readConsoleFile(path: string): ConsoleFile {
  const wrong = (why: string): KubeNodeError => new KubeNodeError(consoleErrors.KN16004({ file: path, why }))
  let value: unknown
  try {
    value = JSON.parse(readBoundedText(path))
  } catch (e) {
    throw wrong(messageOf(e))
  }
  const read = createFieldReader()(consoleFileSchema, value)
  if (read.kind === 'Value') return read.value
  throw wrong(read.problems.map((p) => `${p.pointer || '/'} ${p.message}`).join('; '))
}
