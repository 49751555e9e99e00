// A kind that is stored and shown for the programs that list and watch it, with no decisions of its own here.
import type { ResourceType } from '#api/schema/resource.ts'
import { ageColumn, nameColumn } from './core-columns.ts'
import type { BuiltinKind, Column } from './kind.ts'
import { struct, type Fields } from './shape.ts'

export interface KeptKind extends Omit<BuiltinKind, 'type' | 'schema' | 'columns'> {
  readonly type: ResourceType
  readonly properties: Fields
  /** Between the name and the age. */
  readonly shows?: readonly Column[]
  /** After the age. */
  readonly wide?: readonly Column[]
  /** Some kinds show no age. */
  readonly ageless?: true
}

export function keptKind({ properties, shows = [], wide = [], ageless, ...kind }: KeptKind): BuiltinKind {
  const hasStatus = properties['status'] !== undefined
  return {
    schema: struct(kind.type.kind, properties),
    columns: [nameColumn, ...shows, ...(ageless === true ? [] : [ageColumn]), ...wide],
    ...(hasStatus ? { subresources: ['status'], prepareForCreate: (o) => ({ ...o, status: {} }) } : {}),
    ...kind,
  }
}

/** Of a group in its one version. */
export const typeIn =
  (group: string, version = 'v1') =>
  (kind: string, plural: string, namespaced: boolean): ResourceType => ({ group, version, kind, plural, namespaced })
