// Objects as rows: the columns of a kind, one row an object, and as much of the object as was asked for.
import type { KubeObject } from '#api/schema/object.ts'
import { encodeJson, formatJson } from '../codec/json.ts'
import type { Served } from '../registry/served.ts'
import type { Stored } from '../storage/stored.ts'

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

export const tableHead = (served: Served, metadata: TableMeta) => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
  columnDefinitions: columnDefinitions(served),
})

export function tableOf(
  served: Served,
  objects: readonly KubeObject[],
  metadata: TableMeta,
  include: 'None' | 'Metadata' | 'Object',
  now: number,
) {
  return {
    ...tableHead(served, metadata),
    rows: objects.map((o) => rowOf(served, o, include, now)),
  }
}

export interface RowForm {
  readonly include: 'None' | 'Metadata' | 'Object'
  readonly now: number
  readonly view: (served: Served, stored: Stored) => KubeObject
}

/** A row as bytes. An object that is shown as it is stored is not copied: all tables share its bytes. */
export function tableRow(served: Served, stored: Stored, { include, now, view }: RowForm): readonly Buffer[] {
  const object = view(served, stored)
  if (include !== 'Object' || !served.behaviour.storedAsIs) return [encodeJson(rowOf(served, object, include, now))]
  const { cells } = rowOf(served, object, 'None', now)
  return [Buffer.from(`{"cells":${formatJson(cells)},"object":`), stored.bytes, ROW_END]
}
const ROW_END = Buffer.from('}')

const columnDefinitions = (served: Served): unknown =>
  served.columns.map(({ name, type, format, description, priority }) => ({ name, type, format, description, priority }))

function rowOf(served: Served, object: KubeObject, include: 'None' | 'Metadata' | 'Object', now: number) {
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
