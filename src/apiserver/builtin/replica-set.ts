// Replica sets.
import { numeric, scaledAppKind } from './app-kind.ts'
import { number, statusOf } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import {
  ageColumn,
  appCondition,
  defaultTemplate,
  nameColumn,
  ownPods,
  workloadProblems,
  templateColumns,
} from './workload.ts'

export const replicaSet: BuiltinKind = {
  ...scaledAppKind('ReplicaSet', 'replicasets', 'rs'),
  schema: s.specAndStatus(
    s.struct('ReplicaSetSpec', {
      replicas: s.withDefault(s.pointer(s.int32), 1),
      minReadySeconds: s.int32,
      ...ownPods,
    }),
    s.struct('ReplicaSetStatus', {
      replicas: s.always(s.int32),
      fullyLabeledReplicas: s.int32,
      readyReplicas: s.int32,
      availableReplicas: s.int32,
      terminatingReplicas: s.pointer(s.int32),
      observedGeneration: s.int64,
      conditions: appCondition('ReplicaSetCondition'),
    }),
  ),
  columns: [
    nameColumn,
    numeric('Desired', 'spec', 'replicas'),
    numeric('Current', 'status', 'replicas'),
    numeric('Ready', 'status', 'readyReplicas'),
    ageColumn,
    ...templateColumns,
  ],
  selectableFields: { 'status.replicas': (o) => String(number(statusOf(o)['replicas'])) },
  applyDefaults: defaultTemplate,
  prepareForCreate: (o) => ({ ...o, status: { replicas: 0 } }),
  validate: (o, old) => workloadProblems(o, old, 'replicaset'),
}
