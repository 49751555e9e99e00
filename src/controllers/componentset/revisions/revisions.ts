// Revisions of a set: one immutable record of its components each, named by its content, so that an older spec finds its record again.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { declaredTarget } from '#api/kinds/component-config.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { ComponentTarget } from '#api/protocol/component-order.ts'
import {
  type RevisedComponent,
  isRecordOf,
  readSetRevision,
  revisionNameOf,
  writeSetRevision,
} from '#api/protocol/set-revision.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { nameOf } from '#api/schema/object-meta.ts'

/** Only KubeNode writes these, so KubeNode knows the shape of `data`. */
export type ControllerRevision = BuiltIn['ControllerRevision'] & {
  readonly data?: { readonly components: readonly RevisedComponent[] }
}

export const controllerRevisionType = coreKind<'ControllerRevision', ControllerRevision>('ControllerRevision')

/** A set can return to any of the latest revisions. */
const KEPT_REVISIONS = 10

export function newRevision(set: MachineComponentSet, existing: readonly ControllerRevision[]): ControllerRevision {
  const { name = '', uid = '', annotations } = set.metadata
  const commit = annotations?.[ANNOTATIONS.commit]
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: revisionNameOf(name, set.spec.components),
      namespace: SYSTEM_NAMESPACE,
      ...(commit !== undefined && { annotations: { [ANNOTATIONS.commit]: commit } }),
      ownerReferences: [{ apiVersion: set.apiVersion, kind: set.kind, name, uid, controller: true }],
    },
    ...writeSetRevision(latestOf(existing) + 1, set.spec.components),
  }
}

/**
 * The readable revisions. The name of a record follows from its components, so the declared record is recognized even if it was damaged. What a
 * damaged record contains is not believed.
 */
export function readableRevisions(
  set: MachineComponentSet,
  recorded: readonly ControllerRevision[],
): readonly ControllerRevision[] {
  const isReadable = (r: ControllerRevision) => isRecordOf(r, set) && readSetRevision(r) !== undefined
  if (recorded.every(isReadable)) return recorded
  const declared = revisionNameOf(set.metadata.name ?? '', set.spec.components)
  return recorded.flatMap((r) => {
    if (isReadable(r)) return [r]
    return r.metadata.name === declared && isRecordOf(r, set)
      ? [{ ...withoutCompleted(r), ...writeSetRevision(r.revision, set.spec.components) }]
      : []
  })
}

function withoutCompleted(revision: ControllerRevision): ControllerRevision {
  const { [ANNOTATIONS.completed]: recorded, ...annotations } = revision.metadata.annotations ?? {}
  if (recorded === undefined) return revision
  return { ...revision, metadata: { ...revision.metadata, annotations } }
}

const latestOf = (revisions: readonly ControllerRevision[]): number =>
  revisions.reduce((most, r) => Math.max(most, r.revision), 0)

/** An older record that is declared again moves to the end. */
export function renumbered(revision: ControllerRevision, all: readonly ControllerRevision[]): ControllerRevision {
  const latest = latestOf(all)
  return revision.revision === latest ? revision : { ...revision, revision: latest + 1 }
}

export const targetIn = (revision: ControllerRevision | undefined, component: string): ComponentTarget | undefined => {
  const wanted = revision?.data?.components.find((c) => c.name === component)
  return wanted && declaredTarget(wanted)
}

/** Revisions beyond the limit, oldest first. Revisions that are in use or blocked stay, whatever their age. */
export function surplusRevisions(
  revisions: readonly ControllerRevision[],
  inPlay: ReadonlySet<string>,
): readonly ControllerRevision[] {
  const byAge = revisions.toSorted((a, b) => a.revision - b.revision || (nameOf(a) < nameOf(b) ? -1 : 1))
  const surplus = byAge.length - KEPT_REVISIONS
  return surplus <= 0 ? [] : byAge.filter((r) => !inPlay.has(nameOf(r))).slice(0, surplus)
}
