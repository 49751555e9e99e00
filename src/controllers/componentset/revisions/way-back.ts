// Decides which declarations return to an older version. The version that the set leaves no longer counts as healthy. Neither does a version that the
// set returns to twice within an hour. Both become ordinary rollouts.
import { declaredTarget } from '#api/kinds/component-config.ts'
import {
  type Completed,
  type HealthyVersion,
  WAY_BACK_EVERY_MS,
  completedIn,
  completedText,
  isLeft,
  isSameVersion,
  lastWayBack,
  wasLeft,
} from '#api/protocol/healthy-before.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { componentObjectName } from '#lib/names.ts'
import { type ComponentTarget, isSameTarget } from '#api/protocol/component-order.ts'
import { isSameName } from '#api/schema/object-meta.ts'
import { type ControllerRevision, targetIn } from './revisions.ts'
import type { Seen } from '../seen.ts'

type Definitions = Seen['components']

/** Undefined while the version's definition does not exist: it could not be recognized later. */
export function healthyVersionOf(target: ComponentTarget, components: Definitions): HealthyVersion | undefined {
  if (target.version === undefined) return undefined
  const { name, version, config } = target
  const definition = components.get(componentObjectName(name, version))
  return definition && { version, digest: definitionDigest(definition), ...defined({ config }) }
}

const withCompleted = (revision: ControllerRevision, entries: ReadonlyMap<string, Completed>): ControllerRevision => {
  const annotations = { ...revision.metadata.annotations, [ANNOTATIONS.completed]: completedText(entries) }
  return { ...revision, metadata: { ...revision.metadata, annotations } }
}

export interface Declaration {
  /** As recorded, before the declared one gets a new number. */
  readonly recorded: readonly ControllerRevision[]
  /** The declared revision, recorded or not. */
  readonly declared: ControllerRevision
  readonly components: Definitions
  readonly now: number
}

/** All revisions, including the declared one, marked with the consequences of the declaration. Unchanged revisions are the same objects. */
export function markedRevisions(declaration: Declaration): readonly ControllerRevision[] {
  const { recorded, declared } = declaration
  const isKnown = recorded.some((r) => isSameName(r, declared))
  const all = isKnown ? recorded : [...recorded, declared]
  return (declared.data?.components ?? [])
    .map(declaredTarget)
    .reduce((marked, target) => withWayBack(marked, target, declaration), all)
}

function withWayBack(
  all: readonly ControllerRevision[],
  target: ComponentTarget,
  { recorded, declared, components, now }: Declaration,
): readonly ControllerRevision[] {
  const { name: component } = target
  const fled = declaredAfter(recorded, target)
  const version = healthyVersionOf(target, components)
  // Forward again: the set went back from this version before.
  if (fled.length === 0 || version === undefined || wasLeft(all, component, version)) return all
  const at = timestamp(now)
  const isSecond = now - lastWayBack(all, component) < WAY_BACK_EVERY_MS
  const left = isSecond ? [version] : fled.flatMap((t) => healthyVersionOf(t, components) ?? [])
  const marked = all.map((revision) => {
    const own = targetIn(revision, component)
    const recorded = own && healthyVersionOf(own, components)
    if (recorded === undefined || !left.some((v) => isSameVersion(v, recorded))) return revision
    return changed(revision, component, (before) => ({ ...withVersion(before, recorded), leftAt: at }))
  })
  if (isSecond) return marked
  return marked.map((revision) =>
    isSameName(revision, declared)
      ? changed(revision, component, (before) => ({ ...withVersion(before, version), backAt: at }))
      : revision,
  )
}

/** Another definition with the same name has not completed, even if the previous one did. */
export function withVersion(before: Completed | undefined, version: HealthyVersion): Completed {
  if (before === undefined || isSameVersion(before, version)) return { ...before, ...version }
  const { at: _, ...rest } = before
  return { ...rest, ...version }
}

/** A version that was already left keeps its original time. */
function changed(
  revision: ControllerRevision,
  component: string,
  change: (before: Completed | undefined) => Completed,
): ControllerRevision {
  const before = completedIn(revision)
  const known = before.get(component)
  const next = change(known)
  if (known !== undefined && isLeft(known) && next.leftAt !== known.leftAt) return revision
  return withCompleted(revision, new Map(before).set(component, next))
}

/** Declarations of the component since the target was last declared. Empty if it never was. */
function declaredAfter(recorded: readonly ControllerRevision[], target: ComponentTarget): readonly ComponentTarget[] {
  const { name: component } = target
  const targetOfRevision = (r: ControllerRevision): ComponentTarget => targetIn(r, component) ?? { name: component }
  const numbers = recorded.filter((r) => isSameTarget(targetOfRevision(r), target)).map((r) => r.revision)
  if (numbers.length === 0) return []
  const last = Math.max(...numbers)
  return recorded.filter((r) => r.revision > last).map(targetOfRevision)
}

/** A machine with one of these in its spec goes back when it moves to the target. */
export const aheadOf = (all: readonly ControllerRevision[], target: ComponentTarget): readonly ComponentTarget[] => [
  ...declaredAfter(all, target),
  ...all.flatMap((revision) => {
    const recorded = completedIn(revision).get(target.name)
    const own = targetIn(revision, target.name)
    return recorded !== undefined && own !== undefined && isLeft(recorded) && !isSameTarget(own, target) ? [own] : []
  }),
]
