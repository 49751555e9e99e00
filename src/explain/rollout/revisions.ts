// The revisions of a set for users: by number, with changes, failures, and the commit that declared them. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type ConfiguredComponent, renderedConfig } from '#api/kinds/component-config.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { type Completed, completedIn, isLeft } from '#api/protocol/healthy-before.ts'
import { isRecordOf, readSetRevision } from '#api/protocol/set-revision.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { rolloutErrors } from './rollout-errors.ts'

export const revisionType = coreKind('ControllerRevision')

export interface Component extends ConfiguredComponent {
  readonly version: string
}

export interface Revision {
  readonly name: string
  readonly number: number
  readonly components: readonly Component[]
  readonly commit: string | undefined
  /** Components that failed and have not completed since. */
  readonly failed: readonly string[]
  /** Each of its components completed its rollout on this set, and none was rolled back since. */
  readonly isCompleted: boolean
}

/** Newest first. */
export function revisionsOf(set: MachineComponentSet, objects: readonly KubeObject[]): readonly Revision[] {
  return objects
    .filter((o) => isRecordOf(o, set))
    .map((o) => {
      // A damaged record is shown with its name and without components: nothing can return to it.
      const { number = 0, components = [] } = readSetRevision(o) ?? {}
      const name = o.metadata.name ?? ''
      const completed = completedIn(o)
      return {
        name,
        number,
        components,
        commit: o.metadata.annotations?.[ANNOTATIONS.commit],
        failed: failuresIn(
          o.metadata.annotations?.[ANNOTATIONS.blocked],
          completed,
          name === set.status?.revisions?.update,
        ),
        isCompleted: components.length > 0 && components.every((c) => hasCompleted(c, completed.get(c.name))),
      }
    })
    .toSorted((a, b) => b.number - a.number)
}

const hasCompleted = (component: Component, known: Completed | undefined): boolean =>
  known?.at !== undefined &&
  !isLeft(known) &&
  known.version === component.version &&
  known.config === renderedConfig(component)?.object

function failuresIn(
  text: string | undefined,
  completed: ReadonlyMap<string, Completed>,
  isTarget: boolean,
): readonly string[] {
  try {
    const entries: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(entries)) return []
    return entries
      .filter((e): e is Record<string, unknown> => isObject(e) && !isOver(e, completed, isTarget))
      .map((e) => `${String(e['component'])}: ${String(e['reason'])}`)
  } catch {
    // Written by another program: ignored.
    return []
  }
}

/** A newer revision lifts a block but proves nothing about this one. Only its own rollout does, during a retry or on completion. */
function isOver(
  failure: Readonly<Record<string, unknown>>,
  completed: ReadonlyMap<string, Completed>,
  isTarget: boolean,
): boolean {
  if (failure['liftedAt'] === undefined) return false
  const at = completed.get(String(failure['component']))?.at
  return isTarget || (at !== undefined && Date.parse(at) > Date.parse(String(failure['since'])))
}

/** By number, by name, or the newest earlier one whose rollout is known to have completed. */
export function revisionCalled(
  set: MachineComponentSet,
  revisions: readonly Revision[],
  to: string | undefined,
  option = '--to',
): Revision {
  const now = revisions.find((r) => r.name === set.status?.revisions?.update)
  const found =
    to === undefined ? completedBefore(revisions, now) : revisions.find((r) => String(r.number) === to || r.name === to)
  if (found !== undefined) return found
  const known = revisions.filter((r) => to !== undefined || r !== now).map((r) => r.number)
  const revision = to === undefined ? 'an earlier revision with a completed rollout' : `revision ${JSON.stringify(to)}`
  const name = String(set.metadata.name)
  throw new KubeNodeError(
    known.length === 0
      ? rolloutErrors.KN1372_none({ revision, name })
      : rolloutErrors.KN1372({ revision, name, option, known: known.join(', ') }),
  )
}

function completedBefore(revisions: readonly Revision[], now: Revision | undefined): Revision | undefined {
  const found = revisions.find((r) => r.isCompleted && r.failed.length === 0 && r.number < (now?.number ?? Infinity))
  if (found === undefined || now === undefined) return undefined
  // Removals leave no record: it is unknown whether this revision removed a component, or was replaced before it could.
  const has = (r: Revision, name: string) => r.components.some((c) => c.name === name)
  const isRemovalUnknown = now.components.some(
    ({ name }) => !has(found, name) && revisions.some((r) => r.number < found.number && has(r, name)),
  )
  return isRemovalUnknown ? undefined : found
}

/** For a user who picks a revision that is not known to have been healthy. */
export function warningsOf(set: MachineComponentSet, { number, failed, isCompleted }: Revision): readonly string[] {
  const name = `set/${set.metadata.name}`
  if (failed.length > 0) return failed.map((line) => `warning: revision ${number} failed on ${name}: ${line}`)
  return isCompleted ? [] : [`warning: no completed rollout of revision ${number} is recorded on ${name}`]
}

/** One line for each component that differs. */
export function changesBetween(from: readonly Component[], to: readonly Component[]): readonly string[] {
  const names = [...new Set([...from, ...to].map((c) => c.name))].toSorted()
  return names.flatMap((name) => {
    const [a, b] = [from.find((c) => c.name === name), to.find((c) => c.name === name)]
    if (jsonEqual(a, b)) return []
    if (b === undefined) return [`${name} ${a?.version} → not declared`]
    if (a === undefined) return [`${name} → ${b.version}`]
    return [a.version === b.version ? `${name} ${a.version}, other values` : `${name} ${a.version} → ${b.version}`]
  })
}
