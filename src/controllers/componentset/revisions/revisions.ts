// Revisions of a set: one immutable record of its components each, named by what is in it, so that an older spec finds its old record again.
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

/** Written by us alone: what it keeps is ours to know. */
export type ControllerRevision = BuiltIn['ControllerRevision'] & {
  readonly data?: { readonly components: readonly RevisedComponent[] }
}

export const controllerRevisionType = coreKind<'ControllerRevision', ControllerRevision>('ControllerRevision')

/** Any of the last so many can be returned to. */
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
 * Those that can be read. The name of a record follows from its components, so the declared one is known even where its record was damaged; what a damaged one
 * says of its components is not believed.
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

/** An older record that is declared again comes after all others. */
export function renumbered(revision: ControllerRevision, all: readonly ControllerRevision[]): ControllerRevision {
  const latest = latestOf(all)
  return revision.revision === latest ? revision : { ...revision, revision: latest + 1 }
}

export const targetIn = (revision: ControllerRevision | undefined, component: string): ComponentTarget | undefined => {
  const wanted = revision?.data?.components.find((c) => c.name === component)
  return wanted && declaredTarget(wanted)
}

/** Those past the last ten, the oldest first; what is in play or blocked stays, whatever its age. */
export function surplusRevisions(
  revisions: readonly ControllerRevision[],
  inPlay: ReadonlySet<string>,
): readonly ControllerRevision[] {
  const byAge = revisions.toSorted((a, b) => a.revision - b.revision || (nameOf(a) < nameOf(b) ? -1 : 1))
  const surplus = byAge.length - KEPT_REVISIONS
  return surplus <= 0 ? [] : byAge.filter((r) => !inPlay.has(nameOf(r))).slice(0, surplus)
}
