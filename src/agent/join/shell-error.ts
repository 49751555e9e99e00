// Pure: the numbered errors of scripts that run where no Node.js is yet. Their texts are those of the registry.
import type { ErrorMessage } from '#lib/error-table.ts'
import { numbered } from '#lib/errors.ts'

/** Values may be variables of the shell, such as `$u`; a text with other special characters would need escapes, and none has. */
export function shellError(message: ErrorMessage): string {
  const text = numbered(message)
  if (/["`\\]/.test(text)) throw new Error(`${message.code} cannot be said by a shell`)
  return `{ echo "${text}" >&2; exit 1; }`
}
