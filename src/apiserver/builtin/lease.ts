// Leases: who holds something, and since when.
import { isObject } from '#lib/json.ts'
import { ageColumn, nameColumn, text } from './core-columns.ts'
import { invalid, type FieldProblem } from './field-problem.ts'
import type { BuiltinKind, Draft } from './kind.ts'
import * as s from './shape.ts'

/** Coordinated election is off, as on a real server by default: its fields are not kept. */
function withoutElection(o: Draft): Draft {
  const { spec } = o
  if (!isObject(spec) || (spec['strategy'] === undefined && spec['preferredHolder'] === undefined)) return o
  const { strategy: _s, preferredHolder: _p, ...rest } = spec
  return { ...o, spec: rest }
}

export const lease: BuiltinKind = {
  type: { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true },
  createOnUpdate: true,
  schema: s.struct('Lease', {
    spec: s.always(
      s.struct('LeaseSpec', {
        holderIdentity: s.pointer(s.str),
        leaseDurationSeconds: s.pointer(s.int32),
        acquireTime: s.microTime,
        renewTime: s.microTime,
        leaseTransitions: s.pointer(s.int32),
        strategy: s.pointer(s.str),
        preferredHolder: s.pointer(s.str),
      }),
    ),
  }),
  columns: [
    nameColumn,
    text('Holder', (o) => (isObject(o['spec']) ? String(o['spec']['holderIdentity'] ?? '') : '')),
    ageColumn,
  ],
  prepareForCreate: withoutElection,
  prepareForUpdate: withoutElection,
  validate(o) {
    const spec = isObject(o['spec']) ? o['spec'] : {}
    const out: FieldProblem[] = []
    const seconds = spec['leaseDurationSeconds']
    const transitions = spec['leaseTransitions']
    if (typeof seconds === 'number' && seconds <= 0)
      out.push(invalid('spec.leaseDurationSeconds', seconds, 'must be greater than 0'))
    if (typeof transitions === 'number' && transitions < 0)
      out.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'))
    return out
  },
}
