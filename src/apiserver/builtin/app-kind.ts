// What the kinds of the group apps have in common: names, scaling, columns, and the defaults of a rolling update.
import type { KubeObject } from '#api/schema/object.ts'
import { fields, number, specOf, statusOf, text } from './fields.ts'
import type { BuiltinKind, Column, Draft } from './kind.ts'
import { defaultTemplate } from './workload.ts'

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
} as const

type AppKind = Pick<BuiltinKind, 'type' | 'shortNames' | 'categories' | 'subresources' | 'generation'>

export const appKind = (kind: string, plural: string, shortName: string): AppKind => ({
  type: { group: 'apps', version: 'v1', kind, plural, namespaced: true },
  shortNames: [shortName],
  categories: ['all'],
  subresources: ['status'],
  generation: true,
})

export const scaledAppKind = (kind: string, plural: string, shortName: string) => ({
  ...appKind(kind, plural, shortName),
  subresources: ['status', 'scale'] as const,
  scale,
})

const count = (name: string, cell: (o: KubeObject) => number, priority = 0): Column => ({
  name,
  type: 'integer',
  priority,
  cell,
})
export const numeric = (name: string, of: 'spec' | 'status', field: string): Column =>
  count(name, (o) => number(fields(o[of])[field]))

export const readyColumn: Column = {
  name: 'Ready',
  type: 'string',
  cell: (o) => `${number(statusOf(o)['readyReplicas'])}/${number(specOf(o)['replicas'])}`,
}

/** Fills in the rolling update of a strategy of this type; other types have none. */
export const rollingUpdateDefaults =
  (field: 'strategy' | 'updateStrategy', defaults: { readonly [name: string]: unknown }) =>
  (o: Draft): Draft => {
    const d = defaultTemplate(o)
    const spec = specOf(d)
    const strategy = fields(spec[field])
    if (text(strategy['type']) !== 'RollingUpdate') return d
    const rollingUpdate = { ...defaults, ...fields(strategy['rollingUpdate']) }
    return { ...d, spec: { ...spec, [field]: { ...strategy, rollingUpdate } } }
  }
