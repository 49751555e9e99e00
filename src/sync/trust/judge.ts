// Decides whether one commit of a range may be followed: its signature, when it was first observed, what it changes, and who approved it. Pure.
import { shortCommit } from '#api/protocol/commit-title.ts'
import { timestamp } from '#lib/clock.ts'
import { counted } from '#lib/counted.ts'
import { assertNever, type ErrorMessage } from '#lib/errors.ts'
import { syncErrors } from '../sync-errors.ts'
import type { ChangedPaths } from './changes.ts'
import { isWithin } from './paths.ts'
import { keyProblem, type KeyProblem, type Policy, type Signer } from './policy.ts'

export type Signature =
  | { readonly kind: 'None' }
  | { readonly kind: 'Bad'; readonly why: string }
  | { readonly kind: 'By'; readonly key: string }
  /** An OpenPGP signature that names, but does not contain, an unknown key. */
  | { readonly kind: 'Unknown'; readonly key: string }

export interface JudgedCommit {
  readonly id: string
  /** What was signed. */
  readonly what: 'commit' | 'tag'
  readonly signature: Signature
  readonly firstSeen: number
  /** Its own changes; undefined when no rule is about paths. */
  readonly changed: ChangedPaths | undefined
  /** Its files equal those of an earlier commit, in the range or before; computed only for a signer of reverts. */
  readonly isRevert?: boolean
  /** Why it is not an exact revert of a named commit; computed only for sync's key. */
  readonly revertProblem?: string
  /** Users who approved this commit or a later one. */
  readonly approvers: ReadonlySet<string>
}

/** Labels of the metric; one for each rule. */
export type RefusalReason =
  | 'Unsigned'
  | 'BadSignature'
  | 'UnknownKey'
  | 'KeyRevoked'
  | 'KeyNotYetValid'
  | 'KeyExpired'
  | 'PathNotAllowed'
  | 'NotARevert'
  | 'NotAnExactRevert'
  | 'ApprovalsMissing'

export interface Refusal {
  readonly commit: string
  readonly reason: RefusalReason
  readonly message: ErrorMessage
}

/** Undefined: it may be followed. */
export function refusalOf(commit: JudgedCommit, policy: Policy, now: number): Refusal | undefined {
  const { id, what, signature, firstSeen } = commit
  const shown = `${what} ${shortCommit(id)}`
  const refuse = (reason: RefusalReason, message: ErrorMessage): Refusal => ({ commit: id, reason, message })
  if (signature.kind === 'None') return refuse('Unsigned', syncErrors.KN7030({ commit: shown }))
  if (signature.kind === 'Bad')
    return refuse('BadSignature', syncErrors.KN7030_broken({ commit: shown, why: signature.why }))
  const { key } = signature
  if (signature.kind === 'Unknown') return refuse('UnknownKey', syncErrors.KN7032({ commit: shown, key }))
  const signer = policy.byKey.get(key)
  const problem = keyProblem(policy, key, firstSeen)
  if (problem !== undefined || signer === undefined)
    return refuse(...keyRefusal(problem ?? { kind: 'Unknown' }, { shown, key, signer, firstSeen }))
  if (signer.onlyReverts && commit.isRevert !== true)
    return refuse('NotARevert', syncErrors.KN7036({ commit: shown, principal: signer.principal, key }))
  if (signer.isSync && commit.revertProblem !== undefined) {
    const values = { commit: shown, principal: signer.principal, key, why: commit.revertProblem }
    return refuse('NotAnExactRevert', syncErrors.KN7050(values))
  }
  const outside = signer.paths && firstOutside(commit.changed, signer.paths)
  if (outside !== undefined) {
    const { principal, paths = [] } = signer
    const values = { commit: shown, principal, key, path: outside, paths: few(paths) }
    return refuse('PathNotAllowed', syncErrors.KN7032_path(values))
  }
  const missing = missingApprovals(commit, signer, policy, now)
  return missing === undefined
    ? undefined
    : refuse('ApprovalsMissing', syncErrors.KN7037({ commit: shown, principal: signer.principal, key, why: missing }))
}

const MOST_NAMED = 3
const few = (all: readonly string[]): string =>
  [...all.slice(0, MOST_NAMED), ...(all.length > MOST_NAMED ? ['…'] : [])].join(', ')

interface Shown {
  readonly shown: string
  readonly key: string
  readonly signer: Signer | undefined
  readonly firstSeen: number
}

function keyRefusal(
  problem: KeyProblem,
  { shown: commit, key, signer, firstSeen }: Shown,
): [RefusalReason, ErrorMessage] {
  const principal = signer?.principal ?? 'no signer'
  const seen = timestamp(firstSeen)
  switch (problem.kind) {
    case 'Unknown':
      return ['UnknownKey', syncErrors.KN7032({ commit, key })]
    case 'Revoked': {
      const since = Number.isFinite(problem.since) ? ` since ${timestamp(problem.since)}` : ''
      return ['KeyRevoked', syncErrors.KN7034({ commit, key, since, seen })]
    }
    case 'Early': {
      const valid = `from ${timestamp(problem.since)} on`
      return ['KeyNotYetValid', syncErrors.KN7030_expired({ commit, principal, key, valid, seen })]
    }
    case 'Late': {
      const valid = `until ${timestamp(problem.until)}`
      return ['KeyExpired', syncErrors.KN7030_expired({ commit, principal, key, valid, seen })]
    }
    default:
      return assertNever(problem)
  }
}

/** The first changed path outside of these patterns; unknown changes count as outside. */
function firstOutside(changed: ChangedPaths | undefined, patterns: readonly string[]): string | undefined {
  if (changed === undefined) return 'an unknown path'
  const found = changed.paths.find((path) => !isWithin(path, patterns))
  return found ?? (changed.isWhole ? undefined : `one of more than ${changed.paths.length} paths`)
}

/** Which approvals are missing, in words. */
function missingApprovals(commit: JudgedCommit, own: Signer, policy: Policy, now: number): string | undefined {
  const { thresholds, signers } = policy
  const paths = commit.changed?.paths ?? []
  const touched = thresholds.filter(
    (t) => commit.changed?.isWhole === false || paths.some((path) => isWithin(path, t.paths)),
  )
  const mayAgree = (patterns: readonly string[] | undefined) => (s: Signer) =>
    s.principal !== own.principal &&
    !s.isForge &&
    !s.onlyReverts &&
    !s.isSync &&
    commit.approvers.has(s.principal) &&
    s.keys.some((key) => keyProblem(policy, key, now) === undefined) &&
    (s.paths === undefined || patterns === undefined || firstOutside(within(paths, patterns), s.paths) === undefined)
  for (const { paths: patterns, count } of touched) {
    const others = signers.filter(mayAgree(patterns)).length
    // A program does not count as a person.
    const have = others + (own.isForge || own.isSync ? 0 : 1)
    const needed = own.onlyReverts && isBringingBackSigners(patterns, commit, policy) ? Math.max(2, count) : count
    if (have >= needed) continue
    const path = paths.find((p) => isWithin(p, patterns)) ?? few(patterns)
    return `${path} takes ${counted(needed, 'signer')}, and ${have === 0 ? 'none has' : `${have} ${have === 1 ? 'has' : 'have'}`} agreed`
  }
  if (own.isForge && !signers.some(mayAgree(undefined)))
    return 'a forge signs every merge, and no signer has approved it'
  return undefined
}

/** Otherwise an emergency key alone could restore removed signers and revoked keys. */
function isBringingBackSigners(
  patterns: readonly string[],
  { changed }: JudgedCommit,
  { signersFile }: Policy,
): boolean {
  if (signersFile === undefined || !isWithin(signersFile, patterns)) return false
  return changed?.isWhole !== true || changed.paths.includes(signersFile)
}

const within = (paths: readonly string[], patterns: readonly string[]): ChangedPaths => ({
  paths: paths.filter((p) => isWithin(p, patterns)),
  isWhole: true,
})
