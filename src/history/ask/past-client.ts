// A read-only client that serves a cluster as it was known at one moment, so that the code that explains the present also explains the past.
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import { objectShapeProblem } from '#api/schema/shape.ts'
import type { KubeClient, ListOptions, ListPage } from '#kube/client.ts'
import { fieldsOf } from '#lib/fields.ts'
import { matchesSelector, parseSelector } from '#kube/selector.ts'
import { objectFrom } from '../facts/facts.ts'
import { type Shape, shapeOfKind } from '../facts/shapes.ts'
import type { HistoryReader } from './reader.ts'
import type { Subject } from '../store/names.ts'

/** Every object of a past moment has this resourceVersion. */
const REVISION = '1'

/** All objects of a kind that existed at a moment, page by page. */
export function* objectPagesAt(
  reader: HistoryReader,
  type: ResourceType,
  at: number,
  options: ListOptions = {},
): Generator<readonly KubeObject[]> {
  const shape = shapeOf(type)
  if (shape === undefined) return
  const matches = matcher(options)
  for (const page of reader.statePagesAt(type.kind, at))
    yield page.flatMap(({ subject, facts }) => {
      const object = objectFrom({ ...subject, namespace: namespaceOf(subject), facts }, shape)
      return object !== undefined && isWhole(shape.type, object) && matches(object) ? [withRevision(object)] : []
    })
}

export function pastClient(reader: HistoryReader, at: number): KubeClient {
  const get = (type: ResourceType, { name, namespace }: ObjectKey): KubeObject | undefined => {
    const shape = shapeOf(type)
    if (shape === undefined) return undefined
    // The newest object with this name that existed at the time.
    for (const subject of reader.subjects(type.kind, name).toReversed()) {
      if (type.namespaced && subject.namespace !== (namespace ?? '')) continue
      const object = objectFrom(
        { ...subject, namespace: namespaceOf(subject), facts: reader.stateOf(subject, at) },
        shape,
      )
      if (object !== undefined && isWhole(shape.type, object)) return withRevision(object)
    }
    return undefined
  }
  const never = (): never => {
    throw new Error('the past cannot be changed')
  }
  return {
    place: `the history of ${reader.cluster}`,
    get: async <T extends KubeObject>(type: ResourceType<T>, key: ObjectKey) => get(type, key) as T | undefined,
    list: async <T extends KubeObject>(type: ResourceType<T>, options?: ListOptions) =>
      ({
        items: [...objectPagesAt(reader, type, at, options)].flat(),
        resourceVersion: REVISION,
      }) as unknown as ListPage<T>,
    watch: never,
    create: never,
    update: never,
    patch: never,
    apply: never,
    delete: never,
    deleteCollection: never,
    scale: never,
    evict: never,
    raw: never,
  }
}

/** A part of it may be too large to be recorded, or lie in a gap. Code that explains objects takes only whole ones. */
const isWhole = ({ schema = {} }: ResourceType, object: KubeObject): boolean =>
  objectShapeProblem(schema, object) === undefined

/** A kind that is not recorded counts as empty. */
const shapeOf = ({ kind, group }: ResourceType): Shape | undefined => {
  const shape = shapeOfKind(kind)
  return shape?.type.group === group ? shape : undefined
}

const namespaceOf = ({ namespace }: Subject): string | undefined => (namespace === '' ? undefined : namespace)

const withRevision = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: REVISION },
})

function matcher({ namespace, labelSelector, fieldSelector }: ListOptions): (object: KubeObject) => boolean {
  const labels = labelSelector === undefined ? [] : parseSelector(labelSelector)
  const fields = (fieldSelector ?? '').split(',').flatMap((part) => {
    const [path, value] = part.split(/==?/)
    return path === undefined || value === undefined ? [] : [{ path: path.split('.'), value }]
  })
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    matchesSelector(labels, object.metadata.labels ?? {}) &&
    fields.every(({ path, value }) => textAt(object, path) === value)
}

function textAt(object: unknown, path: readonly string[]): string {
  let at = object
  for (const key of path) at = fieldsOf(at)[key]
  return at === undefined ? '' : String(at)
}
