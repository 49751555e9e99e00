// Namespaces: a label with their own name, a phase, and a finalizer in their spec that is removed when they are empty.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { invalid } from './field-problem.ts'
import type { BuiltinKind, Draft } from './kind.ts'
import * as s from './shape.ts'

const NAME_LABEL = 'kubernetes.io/metadata.name'

const labelled = (o: Draft): Draft =>
  o.metadata.name === undefined
    ? o
    : { ...o, metadata: { ...o.metadata, labels: { ...o.metadata.labels, [NAME_LABEL]: o.metadata.name } } }

const phaseOf = (o: KubeObject): string => {
  const { status } = o
  return isObject(status) && typeof status['phase'] === 'string' ? status['phase'] : ''
}

const finalizersOf = (o: KubeObject): readonly unknown[] => {
  const { spec } = o
  return isObject(spec) && Array.isArray(spec['finalizers']) ? spec['finalizers'] : []
}

export const namespace: BuiltinKind = {
  type: { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false },
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  subresources: ['finalize', 'status'],
  nameRule: 'label',
  schema: s.struct('Namespace', {
    spec: s.always(s.struct('NamespaceSpec', { finalizers: s.listOf(s.str) })),
    status: s.always(
      s.struct('NamespaceStatus', {
        phase: s.str,
        conditions: s.mapList(
          ['type'],
          s.struct('NamespaceCondition', {
            type: s.always(s.str),
            status: s.always(s.str),
            lastTransitionTime: s.always(s.time),
            reason: s.str,
            message: s.str,
          }),
        ),
      }),
    ),
  }),
  columns: [nameColumn, text('Status', (o) => phaseOf(o)), ageColumn],
  selectableFields: { 'status.phase': phaseOf, name: (o) => o.metadata.name ?? '' },
  // a name that is still to be generated has no label yet
  applyDefaults: (o) => ((o.metadata.name ?? '') === '' ? o : labelled(o)),
  prepareForCreate: (o) => {
    const own = finalizersOf(o)
    const finalizers = own.includes('kubernetes') ? own : [...own, 'kubernetes']
    return { ...labelled(o), spec: { finalizers }, status: { phase: 'Active' } }
  },
  prepareForUpdate: (o, old) => ({ ...labelled(o), spec: old['spec'] }),
  validateStatus(o) {
    const phase = phaseOf(o)
    const dying = o.metadata.deletionTimestamp !== undefined
    if (!dying && phase !== 'Active')
      return [invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    if (dying && phase !== 'Terminating')
      return [invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
    return []
  },
}
