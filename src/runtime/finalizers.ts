// Adds or removes one finalizer and leaves those of other programs. Pure.
import type { KubeObject } from '#api/schema/object.ts'

export const withFinalizer = <T extends KubeObject>(object: T, ours: string): T =>
  withFinalizers(object, [...othersOf(object, ours), ours])

export const withoutFinalizer = <T extends KubeObject>(object: T, ours: string): T =>
  withFinalizers(object, othersOf(object, ours))

const othersOf = ({ metadata }: KubeObject, ours: string): readonly string[] =>
  (metadata.finalizers ?? []).filter((f) => f !== ours)

const withFinalizers = <T extends KubeObject>(object: T, finalizers: readonly string[]): T => ({
  ...object,
  metadata: { ...object.metadata, finalizers: [...finalizers] },
})
