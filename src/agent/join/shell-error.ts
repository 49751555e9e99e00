// Pure: numbered errors for scripts that run before Node.js is available. The texts come from the registry.
import type { ErrorMessage } from '#lib/error-table.ts'
import { numbered } from '#lib/errors.ts'

/** Values may be shell variables, such as `$u`. Other special characters would need escapes, but no text has any. */
export function shellError(message: ErrorMessage): string {
  const text = numbered(message)
  if (/["`\\]/.test(text)) throw new Error(`${message.code} cannot be said by a shell`)
  return `{ echo "${text}" >&2; exit 1; }`
}
