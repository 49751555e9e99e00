// Decides a whole rollout: from a set and everything that restricts it, which slices open, move or end, which permits are requested, and what it waits for.
// Pure.
import type { Notice, Plan } from '#runtime/reconcile-with.ts'
import { defined } from '#lib/defined.ts'
import { BEHIND_REQUEUE_MS } from '#declared/committed.ts'
import { withEdit } from '#declared/edited-status.ts'
import type { SetAction } from './actions.ts'
import { reports } from './slices/advance.ts'
import { keptEvidence } from './revisions/blocks.ts'
import { keptCompletions, keptMarks } from './revisions/completed.ts'
import { type Context, contextOf, downCount, exampleOfDown, isAtWork, isOpen, surveysOf } from './plan-context.ts'
import { missingConfigs } from './revisions/configs.ts'
import { hasEnded } from '#permits/permits.ts'
import type { Slices } from './slices/open.ts'
import { probePods } from './inspection/pod-probe.ts'
import { readPermitTarget, writeSliceTarget } from '#api/protocol/component-order.ts'
import { surplusRevisions } from './revisions/revisions.ts'
import { type Rules, rolloutRules } from './slices/rules.ts'
import type { Seen, Status, Slice } from './seen.ts'
import { viewSlice } from './slices/slice-view.ts'
import { surroundings } from './slices/surroundings.ts'
import { type Progress, statusOf } from './status.ts'
import { type Draft, moveOne, movedSlices, nextSlices } from './plan-ladder.ts'
import { nextReconcileMs } from './plan-requeue.ts'
import { keptDurations } from './slices/durations.ts'

export interface SetPlan extends Plan<SetAction> {
  readonly status: Status
}

export function plan(seen: Seen, now: number, rules: Rules = rolloutRules): SetPlan {
  if (seen.isHeld === true) return heldPlan(seen, now)
  const context = contextOf(seen, now, rules)
  const surveys = surveysOf(context)
  const draft: Draft = {
    actions: [...keptMarks(context), ...bookkeeping(context)],
    notices: [],
    blocks: [...context.blocks],
    waits: [],
    taken: new Set(),
    rebooting: new Set(),
    example: exampleReader(context),
    probed: [],
    free: context.limit - downCount(context),
    slices: slicesIn(seen.set.status?.slices ?? []),
  }
  // Out-of-date components go first. Otherwise the first by name would take every free slice.
  const inTurn = surveys.toSorted((a, b) => a.updated - b.updated || (a.track.component < b.track.component ? -1 : 1))
  const left = unwanted(context, draft)
  const ladders = inTurn.map((survey) => movedSlices(context, survey, draft))
  const slices = [...left, ...ladders.flatMap((own) => [...own.slices, ...nextSlices(context, own, ladders, draft)])]
  draft.actions.push(...orphaned(context, slices))
  const { members, revisions } = context
  const kept = keptEvidence(revisions.all, { blocks: draft.blocks, surveys, members, now })
  const completed = keptCompletions(context, { surveys, slices, blocks: draft.blocks })
  draft.actions.push(...oncePerRevision([...kept, ...completed], draft.actions))
  draft.actions.push(...probePods(seen, draft.probed))
  const progress: Progress = { surveys, slices, blocks: draft.blocks, waits: draft.waits }
  const durations = keptDurations(seen.set, draft.actions, now)
  const status = withEdit({ ...statusOf(context, progress), ...durations }, seen.set.status, seen.edit, now)
  const requeueAfter = nextReconcileMs(context, slices)
  const notices = [...draft.notices, ...finished(seen, status)]
  // Permits are requested last: if an earlier action fails, the status does not yet reference the slice, and the next reconcile would request a second permit.
  const isAsk = ({ kind }: SetAction) => kind === 'RequestPermit'
  const actions = [...draft.actions.filter((x) => !isAsk(x)), ...draft.actions.filter(isAsk)]
  return { actions, notices, status, ...defined({ requeueAfter }) }
}

/** Each is a write with a resourceVersion. The API would reject a second write to the same object, so it waits for the next reconcile. */
function oncePerRevision(actions: readonly SetAction[], before: readonly SetAction[]): readonly SetAction[] {
  const nameOf = (a: SetAction) => ('revision' in a ? a.revision.metadata.name : undefined)
  const written = new Set(before.map(nameOf))
  return actions.filter((action) => {
    const isFirst = !written.has(nameOf(action))
    written.add(nameOf(action))
    return isFirst
  })
}

/** Running slices end with their machines' reports, once git's declaration is known again. */
function heldPlan({ set, edit }: Seen, now: number): SetPlan {
  const status = withEdit(set.status ?? {}, set.status, edit, now)
  return { actions: [], notices: [], status, ...(edit === undefined && { requeueAfter: BEHIND_REQUEUE_MS }) }
}

function exampleReader(context: Context): () => string | undefined {
  let read: { readonly example: string | undefined } | undefined
  return () => (read ??= { example: exampleOfDown(context) }).example
}

function slicesIn(slices: readonly Slice[]): Slices {
  return { atWork: slices.filter(isAtWork).length, open: slices.filter(isOpen).length }
}

/** Objects that all other actions need: the revision and rendered configurations. Deletes those no longer needed. */
function bookkeeping({ seen, revisions, isNewRevision, blocks }: Context): readonly SetAction[] {
  const { update, current, all } = revisions
  const before = seen.revisions.find((r) => r.metadata.name === update.metadata.name)
  const inPlay = new Set([update, ...(current === undefined ? [] : [current])].map((r) => r.metadata.name ?? ''))
  for (const { revision } of blocks) inPlay.add(revision)
  const recorded = all.filter((r) => r.metadata.uid !== undefined)
  return [
    ...(isNewRevision
      ? [
          {
            kind: 'CreateRevision' as const,
            reason: 'the declared components have no revision yet',
            revision: all.at(-1) ?? update,
          },
        ]
      : []),
    ...(before === undefined || before.revision === update.revision
      ? []
      : [{ kind: 'RenumberRevision' as const, reason: 'declared again', revision: update }]),
    ...missingConfigs(seen, [update, ...(current === undefined ? [] : [current])]),
    ...surplusRevisions(recorded, inPlay).map((revision) => ({
      kind: 'DeleteRevision' as const,
      reason: 'beyond the revision history limit',
      revision,
    })),
  ]
}

/** Slices of components that the set no longer declares. */
function unwanted(context: Context, draft: Draft): readonly Slice[] {
  const named = new Set(context.tracks.map((t) => t.component))
  const slices = (context.seen.set.status?.slices ?? []).filter((w) => isOpen(w) && !named.has(w.component))
  return slices.flatMap((slice) => moveOne(context, slice, 'superseded', { failed: 0, allowed: 0 }, draft).slice ?? [])
}

/** Permits of this set without a slice: the requester died in between, the slice was given up, or it continued without silent machines. */
function orphaned(context: Context, slices: readonly Slice[]): readonly SetAction[] {
  const { seen } = context
  const inUse = [...slices, ...(seen.set.status?.slices ?? [])].filter((w) => w.phase === 'Planned' || isAtWork(w))
  const named = new Set(inUse.map((w) => w.permit))
  const around = surroundings(context)
  return [...seen.permits.values()].flatMap((permit) => {
    const { name = '' } = permit.metadata
    if (named.has(name) || hasEnded(permit)) return []
    const { component = { name: '' }, targets } = permit.spec
    const slice: Slice = {
      ...writeSliceTarget(readPermitTarget(component)),
      step: 0,
      number: 0,
      phase: 'Switching',
      permit: name,
      machines: targets.map((t) => t.name),
    }
    return reports(viewSlice(slice, permit, around, true))
  })
}

function finished(seen: Seen, status: Status): readonly Notice[] {
  const { current } = status.revisions ?? {}
  if (current === undefined || current === seen.set.status?.revisions?.current) return []
  return [{ reason: 'AllUpdated', message: `all eligible machines are on ${current}` }]
}
