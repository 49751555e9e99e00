// Refuses a commit whose rendering differs from the plan in its message, or that has no plan where the source requires one.
import { commitText, shortCommit } from '#api/protocol/commit-title.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import type { Targets } from '#delivery/desired.ts'
import type { LocalRepository } from '../../git/local-repository.ts'
import { isSameContent, planDigest, plansIn } from '../../plan-digest.ts'
import { refuseImpossible } from '../../render/problems.ts'
import { syncErrors } from '../../sync-errors.ts'
import { firstParentRange } from '../../trust/history.ts'
import type { Renders } from '../renders.ts'
import type { Commit } from './seen.ts'

/** A merge of more branches needs a plan of its own. */
const MAX_MERGED = 16
interface Messages {
  readonly own: string
  /** For a merge, the messages of the merged commits: forges write merge messages of their own. */
  readonly merged: readonly string[]
}

/** A merge brings in the parents that are not followed yet, in any order. */
export async function messagesOf(
  repository: LocalRepository,
  id: string,
  followed: string | undefined,
): Promise<Messages> {
  const { message: own, parents } = await repository.commit(id)
  const [, ...others] = parents
  const brought = others.includes(followed ?? '') ? parents.filter((p) => p !== followed) : others
  const merged: string[] = []
  for (const parent of brought.slice(0, MAX_MERGED)) merged.push((await repository.commit(parent)).message)
  return { own, merged }
}

/** A merge without its own plan has the plans of the merged commits. */
export function plansOf({ own, merged }: Messages): readonly string[] {
  const plans = plansIn(own)
  return plans.length > 0 ? plans : [...new Set(merged.flatMap(plansIn))]
}

export interface Planned {
  readonly source: FleetSource
  readonly repository: LocalRepository
  readonly commit: Commit
  readonly targets: Targets
}

/** Compares with the previously followed commit, until this one is followed. */
export async function refuseOtherPlan(renders: Renders, planned: Planned): Promise<void> {
  const {
    source,
    commit: { id, title = {}, plans = [] },
    targets,
  } = planned
  const { requirePlan = false } = source.spec
  const before = source.status?.rendered
  if (before === undefined || before === id || (plans.length === 0 && !requirePlan)) return
  const { targets: old } = await renders.render(source, before)
  const actual = planDigest(old, targets)
  if (isStepPlanned({ plans, requirePlan }, old, targets)) return
  if (await isPlannedByStep(renders, planned, before)) return
  const values = { commit: `commit ${commitText(id, title)}`, before: shortCommit(before), actual }
  if (plans.length === 0) throw new KubeNodeError(syncErrors.KN7060(values))
  throw new KubeNodeError(syncErrors.KN7060_other({ ...values, named: plans.map(planText).join(', ').slice(0, 200) }))
}

const planText = (named: string): string => (named === '' ? '(empty)' : named)

interface Step {
  readonly plans: readonly string[]
  readonly requirePlan: boolean
}

function isStepPlanned({ plans, requirePlan }: Step, old: Targets, now: Targets): boolean {
  if (plans.length === 0) return !requirePlan || isSameContent(old, now)
  return plans.length === 1 && plans[0] === planDigest(old, now)
}

/** Each step is rendered. With more commits between two polls, a new plan is needed. */
const MOST_STEPS = 6

/**
 * Whether the commits of one poll are each planned against their parent, or change no object: had sync polled in between, it would have followed every
 * one of them. Does not apply where only the newest commit is verified, because the ones below may come from an author who signs nothing.
 */
async function isPlannedByStep(
  renders: Renders,
  { source, repository, commit, targets }: Planned,
  before: string,
): Promise<boolean> {
  const { verify } = source.spec
  if (verify?.mode === 'Head') return false
  const range = await firstParentRange(before, commit.id, (each) => repository.commit(each), MOST_STEPS)
  if (range.kind !== 'Range' || range.commits.length < 2) return false
  let [from, old] = [before, (await renders.render(source, before)).targets]
  for (const id of range.commits) {
    const now = id === commit.id ? targets : await targetsOf(renders, source, id)
    if (now === undefined) return false
    const plans = plansOf(await messagesOf(repository, id, from))
    if (!isStepPlanned({ plans, requirePlan: true }, old, now)) return false
    ;[from, old] = [id, now]
  }
  return true
}

/** Undefined for a commit that a poll would have refused. */
async function targetsOf(renders: Renders, source: FleetSource, id: string): Promise<Targets | undefined> {
  try {
    const rendered = await renders.render(source, id)
    refuseImpossible(shortCommit(id), rendered)
    return rendered.targets
  } catch (error) {
    if (isKubeNodeError(error)) return undefined
    throw error
  }
}
