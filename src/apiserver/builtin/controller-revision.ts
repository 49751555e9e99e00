// Controller revisions: immutable snapshots of a declaration.
import { jsonEqual } from '#lib/json.ts'
import { invalid, required } from './field-problem.ts'
import { number, shown } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import { always, anything, int64 } from './shape.ts'
import { ageColumn, nameColumn } from './workload.ts'

export const controllerRevision: BuiltinKind = {
  type: { group: 'apps', version: 'v1', kind: 'ControllerRevision', plural: 'controllerrevisions', namespaced: true },
  schema: { type: 'object', properties: { data: anything, revision: always(int64) } },
  columns: [
    nameColumn,
    {
      name: 'Controller',
      type: 'string',
      cell: (o) => {
        const owner = o.metadata.ownerReferences?.find((r) => r.controller === true)
        const group = owner?.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : ''
        return owner === undefined ? '<none>' : `${owner.kind.toLowerCase()}${group}/${owner.name}`
      },
    },
    { name: 'Revision', type: 'string', cell: (o) => shown(String(o['revision'] ?? '')) },
    ageColumn,
  ],
  validate: (o, old) => [
    ...(number(o['revision']) < 0 ? [invalid('revision', o['revision'], 'must be greater than or equal to 0')] : []),
    ...(o['data'] === undefined || o['data'] === null ? [required('data', 'data is mandatory')] : []),
    ...(old !== undefined && !jsonEqual(o['data'], old['data'])
      ? [invalid('data', o['data'], 'field is immutable')]
      : []),
  ],
}
