// Objects as rows: the columns of a kind, one row an object, and as much of the object as was asked for.
import type { KubeObject } from '#schema/object.ts'
import type { Served } from '../registry/served.ts'

export interface TableMeta {
  readonly resourceVersion: string
  readonly continue?: string
  readonly remainingItemCount?: number
}

export const partialMetadata = (object: KubeObject) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
})

export function tableOf(
  served: Served,
  objects: readonly KubeObject[],
  metadata: TableMeta,
  include: 'None' | 'Metadata' | 'Object',
  now: number,
) {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columnDefinitions(served),
    rows: objects.map((o) => rowOf(served, o, include, now)),
  }
}

const columnDefinitions = (served: Served): unknown =>
  served.columns.map(({ name, type, format, description, priority }) => ({ name, type, format, description, priority }))

function rowOf(served: Served, object: KubeObject, include: 'None' | 'Metadata' | 'Object', now: number): unknown {
  const cells = served.columns.map((c) => c.cell(object, now))
  switch (include) {
    case 'None':
      return { cells, object: null }
    case 'Object':
      return { cells, object }
    case 'Metadata':
      return { cells, object: partialMetadata(object) }
    default:
      return { cells }
  }
}
