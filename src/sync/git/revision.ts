// Parses commit names (main, v1.2, 3f1c9e0~2, HEAD^), and keeps ref names inside the folder of refs.
import { KubeNodeError } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'

export interface Revision {
  readonly base: string
  /** Parent to follow at each step; 1 is the first parent. */
  readonly steps: readonly number[]
}

const FORM = /^([A-Za-z0-9][A-Za-z0-9._/+-]*)((?:~\d{0,4}|\^\d?)*)$/
/** Going back further than this is a mistake. */
const MAX_STEPS = 10_000

export function parseRevision(text: string): Revision {
  const [, base, suffix = ''] = FORM.exec(text) ?? []
  if (base === undefined)
    throw new KubeNodeError(syncErrors.KN7010_form({ revision: JSON.stringify(text.slice(0, 100)) }))
  const steps: number[] = []
  for (const [, kind, digits = ''] of suffix.matchAll(/([~^])(\d*)/g)) {
    const n = digits === '' ? 1 : Number(digits)
    if (kind === '~') steps.push(...Array.from({ length: Math.min(n, MAX_STEPS) }, () => 1))
    else if (n > 0) steps.push(n)
  }
  return { base, steps: steps.slice(0, MAX_STEPS) }
}

/** File systems accept this length for a name and a path below the git folder; longer ones fail with an error instead of "not found". */
const MAX_PART_BYTES = 255
const MAX_REF_NAME_BYTES = 1_024

const isPlain = (part: string): boolean =>
  part !== '' && !part.startsWith('.') && !part.endsWith('.lock') && !part.includes('..')

/** The path of a ref's file below the git folder; undefined for an invalid ref name. */
export function refFileName(ref: string): string | undefined {
  if (!ref.startsWith('refs/')) return undefined
  const isFine = ref.split('/').every((p) => isPlain(p) && Buffer.byteLength(p) <= MAX_PART_BYTES)
  // oxlint-disable-next-line no-control-regex
  return isFine && Buffer.byteLength(ref) <= MAX_REF_NAME_BYTES && !/[\u0000-\u0020\\~^:?*[\u007f]/.test(ref)
    ? ref
    : undefined
}

/** The line that `git revert` writes into its commit message. */
const REVERTS = /^This reverts commit ([0-9a-f]{40})\b/m

export const revertedCommit = (message: string): string | undefined => REVERTS.exec(message)?.[1]
