// Stateful sets.
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { readyColumn, rollingUpdateDefaults, scaledAppKind } from './app-kind.ts'
import { forbidden, type FieldProblem } from './field-problem.ts'
import { specOf } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import { claimSpec, templateMeta } from './pod-volumes.ts'
import * as s from './shape.ts'
import { ageColumn, appCondition, nameColumn, replicated, workloadProblems, templateColumns } from './workload.ts'

const STATEFUL_SET_MAY_CHANGE = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
])
const STATEFUL_SET_TEXT =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

function statefulSetProblems(o: KubeObject, old: KubeObject | undefined): FieldProblem[] {
  const frozen = (x: KubeObject) =>
    Object.fromEntries(Object.entries(specOf(x)).filter(([k]) => !STATEFUL_SET_MAY_CHANGE.has(k)))
  const problems = workloadProblems(o, undefined, 'statefulset')
  return old !== undefined && !jsonEqual(frozen(o), frozen(old))
    ? [...problems, forbidden('spec', STATEFUL_SET_TEXT)]
    : problems
}

export const statefulSet: BuiltinKind = {
  ...scaledAppKind('StatefulSet', 'statefulsets', 'sts'),
  schema: s.specAndStatus(
    replicated('StatefulSetSpec', {
      volumeClaimTemplates: s.listOf(
        s.struct('PersistentVolumeClaim', {
          apiVersion: s.withDefault(s.str, 'v1'),
          kind: s.withDefault(s.str, 'PersistentVolumeClaim'),
          metadata: s.always(templateMeta),
          spec: s.always(claimSpec),
          status: s.always(
            s.struct('PersistentVolumeClaimStatus', { phase: s.withDefault(s.str, 'Pending') }, { default: {} }),
          ),
        }),
      ),
      serviceName: s.always(s.str),
      podManagementPolicy: s.withDefault(s.str, 'OrderedReady'),
      updateStrategy: s.always(
        s.struct(
          'StatefulSetUpdateStrategy',
          {
            type: s.withDefault(s.str, 'RollingUpdate'),
            rollingUpdate: s.pointer(
              s.struct('RollingUpdateStatefulSetStrategy', {
                partition: s.withDefault(s.pointer(s.int32), 0),
                maxUnavailable: s.intOrString,
              }),
            ),
          },
          { default: {} },
        ),
      ),
      revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
      minReadySeconds: s.int32,
      persistentVolumeClaimRetentionPolicy: s.pointer(
        s.struct(
          'StatefulSetPersistentVolumeClaimRetentionPolicy',
          { whenDeleted: s.withDefault(s.str, 'Retain'), whenScaled: s.withDefault(s.str, 'Retain') },
          { default: {} },
        ),
      ),
      ordinals: s.pointer(s.struct('StatefulSetOrdinals', { start: s.always(s.int32) })),
    }),
    s.struct('StatefulSetStatus', {
      observedGeneration: s.int64,
      replicas: s.always(s.int32),
      readyReplicas: s.int32,
      currentReplicas: s.int32,
      updatedReplicas: s.int32,
      currentRevision: s.str,
      updateRevision: s.str,
      collisionCount: s.pointer(s.int32),
      conditions: appCondition('StatefulSetCondition'),
      availableReplicas: s.always(s.int32),
    }),
  ),
  columns: [nameColumn, readyColumn, ageColumn, ...templateColumns.slice(0, 2)],
  applyDefaults: rollingUpdateDefaults('updateStrategy', { partition: 0 }),
  prepareForCreate: (o) => ({ ...o, status: { replicas: 0, availableReplicas: 0 } }),
  validate: statefulSetProblems,
}
