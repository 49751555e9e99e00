// The one way to say what cdk8s-plus has no words for: JSON patches on the object that a construct makes.
import { ApiObject, JsonPatch } from 'cdk8s'
import type { Construct } from 'constructs'

/** Keys of a path, unescaped: `['spec', 'template', 'metadata', 'labels', 'a/b']`. */
export type Path = readonly (string | number)[]

const pointer = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/**
 * Values by path; undefined removes what is there. The object around each must exist, as JSON patches demand. Patches apply before cdk8s-plus writes an object
 * down, so keys are spelled as in its classes (`downwardApi`), and one that it does not know is lost: the test of the pods checks each.
 */
export function amend(construct: Construct, changes: readonly (readonly [Path, unknown])[]): void {
  ApiObject.of(construct).addJsonPatch(
    ...changes.map(([path, value]) =>
      value === undefined ? JsonPatch.remove(pointer(path)) : JsonPatch.add(pointer(path), value),
    ),
  )
}
