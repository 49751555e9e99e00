// The recorder's memory of an object: its facts as numbers, and the fields needed for deeds.
import type { KubeObject, ManagedFieldsEntry, ObjectMeta } from '#api/schema/object.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { wroteSince } from '../deeds/changed-fields.ts'
import { factsOf } from '../facts/facts.ts'
import type { Shape } from '../facts/shapes.ts'
import { type Packed, NOT_REPORTED, packed } from '../facts/transition.ts'
import type { Names } from '../store/names.ts'

export interface Held extends KubeObject {
  readonly packed: Packed
  /** For kinds with few objects: everything but the managed fields. */
  readonly source: KubeObject
}

/** `unseenSince`: while the first list is read after a time without a recorder. */
export const heldOf =
  (shape: Shape, names: Pick<Names, 'topic' | 'value'>, unseenSince: () => number | undefined = () => undefined) =>
  (object: KubeObject): Held => {
    const facts = factsOf(object, shape).flatMap(({ topic: path, value, reported }) => {
      const topic = names.topic(path)
      return topic === undefined ? [] : [{ topic, value: names.value(value), reported: reported ?? NOT_REPORTED }]
    })
    const { name, namespace, uid, resourceVersion } = object.metadata
    const metadata: ObjectMeta = defined({
      name: textIn(name),
      namespace: textIn(namespace),
      uid: textIn(uid),
      resourceVersion,
    })
    return {
      apiVersion: object.apiVersion,
      kind: shape.type.kind,
      metadata,
      packed: packed(facts),
      source: shape.hasManyMessages === true ? skeletonOf(object, unseenSince()) : withoutFields(object),
    }
  }

/** The file takes nothing else, and a server that was taken over may send anything. */
const textIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The managers without their field sets, which are most of an object. */
const withoutFields = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, managedFields: writersOf(object) },
})

const writersOf = ({ metadata }: KubeObject): readonly ManagedFieldsEntry[] =>
  (metadata.managedFields ?? []).map((entry) => {
    const written = { ...entry }
    delete written.fieldsV1
    return written
  })

/** For kinds with thousands of objects: only the fields needed for deeds. */
function skeletonOf(object: KubeObject, unseenSince: number | undefined): KubeObject {
  const { name, namespace, uid, generation, creationTimestamp, annotations } = object.metadata
  const commit = annotations?.[ANNOTATIONS.commit]
  // Which manager wrote which field is needed for changes that were not observed; those are few.
  const writers =
    unseenSince === undefined
      ? writersOf(object)
          .filter((m) => (m.subresource ?? '') === '')
          .toSorted((a, b) => (b.time ?? '').localeCompare(a.time ?? ''))
          .slice(0, 1)
      : (object.metadata.managedFields ?? []).filter((m) => wroteSince(m, unseenSince))
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...defined({ name, namespace, uid, generation, creationTimestamp }),
      ...(commit !== undefined && { annotations: { [ANNOTATIONS.commit]: commit } }),
      ...(writers.length > 0 && { managedFields: writers }),
    },
  }
}
