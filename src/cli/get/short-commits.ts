// Shortens commits to twelve digits in tables for people, as in release names. A pipe, `-o wide`, json and yaml keep all forty. Pure.
import { shortCommit } from '#api/protocol/commit-title.ts'
import type { Form } from './form.ts'

const HEAD = 'COMMIT'
const WHOLE = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** `width`: of the terminal; undefined in a pipe, which shortens nothing. */
export function shortCommits(
  head: readonly string[],
  { form, width }: { readonly form: Form; readonly width: number | undefined },
): (row: readonly string[]) => readonly string[] {
  const isShort = form.kind === 'table' && !form.isWide && width !== undefined
  const at = head.indexOf(HEAD)
  if (!isShort || at === -1) return (row) => row
  return (row) => {
    const cell = row[at] ?? ''
    return WHOLE.test(cell) ? row.with(at, shortCommit(cell)) : row
  }
}
