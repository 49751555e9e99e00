// Turns sets, their revisions and canaries into their claims on one machine. Pure.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import { declaredTarget, type DeclaredComponent } from '#api/kinds/component-config.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type RevisedComponent, isRecordOf, readSetRevision } from '#api/protocol/set-revision.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import type { Claim, Mark } from './desired.ts'
import { defined } from '#lib/defined.ts'
import { parseDuration } from '#lib/duration.ts'

/** A kept revision of a set; its data holds the declared components. */
export type ControllerRevision = BuiltIn['ControllerRevision']

export const controllerRevisionType = coreKind('ControllerRevision')

type SetComponent = MachineComponentSet['spec']['components'][number]

const wantedOf = (declared: DeclaredComponent & Pick<SetComponent, 'onRemoval'>) => ({
  ...declaredTarget(declared),
  ...defined({ onRemoval: declared.onRemoval }),
})

/** A selector that cannot be read matches nothing: machines stay as they are. */
function matches(selector: LabelSelector, machine: Machine): boolean {
  try {
    return matchesLabels(selector, machine.metadata.labels)
  } catch {
    return false
  }
}

type RevisionNamed = (name: string) => ControllerRevision | undefined

/** As far as its selector says. */
export const isClaimedBy = (machine: Machine, { metadata, spec }: MachineComponentSet): boolean =>
  metadata.deletionTimestamp === undefined && matches(spec.selector, machine)

export const claimOf = (
  set: MachineComponentSet,
  machine: Machine,
  revisionNamed: RevisionNamed,
  isHeld = false,
): Claim | undefined => (isClaimedBy(machine, set) ? claimBy(set, revisionNamed, isHeld) : undefined)

/** The same for all machines that the set claims. */
export function claimBy(
  set: MachineComponentSet,
  revisionNamed: RevisionNamed,
  /** Git's declaration of the set is unknown: it keeps its earlier target and offers nothing new. */
  isHeld = false,
): Claim {
  const { metadata, spec, status = {} } = set
  const { current, update, blocked = [] } = status.revisions ?? {}
  const isObserved = status.observedGeneration !== undefined && status.observedGeneration === metadata.generation
  // A pinned set goes to a different revision than its declared one.
  const recorded = (name: string) => {
    const revision = revisionNamed(name)
    return revision !== undefined && isRecordOf(revision, set) ? readSetRevision(revision) : undefined
  }
  const goesTo = update === undefined ? undefined : recorded(update)
  const isKnown = update === undefined || goesTo !== undefined
  return {
    set: metadata.name ?? '',
    priority: spec.priority,
    isCurrent: isObserved && isKnown && !isHeld,
    components:
      (isObserved && goesTo !== undefined) || isHeld ? wantedIn(goesTo?.components) : spec.components.map(wantedOf),
    slices: status.slices ?? [],
    // Of any revision: the status names the blocks still in force.
    blocked: blocked.map((b) => b.component),
    podWaitMs: parseDuration(spec.rollout.podWait ?? '0s'),
    lastGood: current === undefined ? [] : wantedIn(recorded(current)?.components),
  }
}

const wantedIn = (components: readonly RevisedComponent[] = []) => components.map(wantedOf)

const MARKING: ReadonlySet<string | undefined> = new Set(['Rolling', 'Observing', 'Passed'])

/** A running canary marks the machines it picked. The marks end with it. */
export function markOf({ metadata, spec, status }: ComponentCanary, machine: Machine): Mark | undefined {
  const isMarked = status?.machines?.includes(machine.metadata.name ?? '') === true
  if (!isMarked || spec.abort || metadata.deletionTimestamp !== undefined || !MARKING.has(status?.phase))
    return undefined
  return { canary: metadata.name ?? '', components: spec.components.map(wantedOf), permits: status?.permits ?? [] }
}
