// From faulty parts to the reading of a condition: which ones, in words that stay the same while the fault does.
import { printableLine } from '#lib/printable.ts'
import type { Reading } from '../builtin/reading.ts'

/** Parts to name: the condition's message has 200 characters. */
const SHOWN = 3

export interface Condition {
  readonly type: string
  /** If no part is faulty. */
  readonly calm: { readonly reason: string; readonly message: string }
}

/** Names of parts come from firmware and drivers: anything but printable text is removed. */
export function readingOf({ type, calm }: Condition, faults: readonly string[], reason = type): Reading {
  if (faults.length === 0) return { type, status: 'False', ...calm }
  const more = faults.length > SHOWN ? ` and ${faults.length - SHOWN} more` : ''
  return { type, status: 'True', reason, message: printableLine(`${faults.slice(0, SHOWN).join('; ')}${more}`) }
}
