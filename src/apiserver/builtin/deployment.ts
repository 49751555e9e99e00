// Deployments.
import type { KubeObject } from '#api/schema/object.ts'
import { numeric, readyColumn, rollingUpdateDefaults, scaledAppKind } from './app-kind.ts'
import { forbidden, invalid, notSupported, type FieldProblem } from './field-problem.ts'
import { fields, number, specOf, statusOf, text } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import { replicaCountProblems } from './status-counts.ts'
import { ageColumn, appCondition, nameColumn, replicated, templateColumns, workloadProblems } from './workload.ts'

const QUARTER = '25%'

export const deployment: BuiltinKind = {
  ...scaledAppKind('Deployment', 'deployments', 'deploy'),
  schema: s.specAndStatus(
    replicated('DeploymentSpec', {
      strategy: s.always(
        s.struct(
          'DeploymentStrategy',
          {
            type: s.withDefault(s.str, 'RollingUpdate'),
            rollingUpdate: s.pointer(
              s.struct('RollingUpdateDeployment', { maxUnavailable: s.intOrString, maxSurge: s.intOrString }),
            ),
          },
          { default: {}, 'x-kubernetes-patch-strategy': 'retainKeys' },
        ),
      ),
      minReadySeconds: s.int32,
      revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
      paused: s.bool,
      progressDeadlineSeconds: s.withDefault(s.pointer(s.int32), 600),
    }),
    s.struct('DeploymentStatus', {
      observedGeneration: s.int64,
      replicas: s.int32,
      updatedReplicas: s.int32,
      readyReplicas: s.int32,
      availableReplicas: s.int32,
      unavailableReplicas: s.int32,
      terminatingReplicas: s.pointer(s.int32),
      conditions: appCondition('DeploymentCondition', true),
      collisionCount: s.pointer(s.int32),
    }),
  ),
  columns: [
    nameColumn,
    readyColumn,
    {
      ...numeric('Up-to-date', 'status', 'updatedReplicas'),
      type: 'string',
      cell: (o) => String(number(statusOf(o)['updatedReplicas'])),
    },
    {
      ...numeric('Available', 'status', 'availableReplicas'),
      type: 'string',
      cell: (o) => String(number(statusOf(o)['availableReplicas'])),
    },
    ageColumn,
    ...templateColumns,
  ],
  applyDefaults: rollingUpdateDefaults('strategy', { maxUnavailable: QUARTER, maxSurge: QUARTER }),
  prepareForCreate: (o) => ({ ...o, status: {} }),
  validate: (o, old) => [...workloadProblems(o, old, 'deployment'), ...strategyProblems(o)],
  validateStatus: (o) => replicaCountProblems(o, ['updatedReplicas', 'readyReplicas', 'availableReplicas']),
}

const PERCENT = /^[0-9]+%$/
const PERCENT_TEXT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

/** A number of pods or a percentage; at most all of them can be unavailable. */
function shareProblems(value: unknown, at: string, field: string): FieldProblem[] {
  if (typeof value === 'number') return value < 0 ? [invalid(at, value, 'must be greater than or equal to 0')] : []
  if (typeof value !== 'string') return []
  if (!PERCENT.test(value)) return [invalid(at, value, PERCENT_TEXT)]
  return field === 'maxUnavailable' && Number.parseInt(value, 10) > 100
    ? [invalid(at, value, 'must not be greater than 100%')]
    : []
}

function strategyProblems(o: KubeObject): FieldProblem[] {
  const strategy = fields(specOf(o)['strategy'])
  const type = text(strategy['type'])
  if (type === 'Recreate' && strategy['rollingUpdate'] !== undefined) {
    return [forbidden('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")]
  }
  if (type !== 'Recreate' && type !== 'RollingUpdate') {
    return [notSupported('spec.strategy.type', type, ['Recreate', 'RollingUpdate'])]
  }
  const r = fields(strategy['rollingUpdate'])
  const shares = ['maxUnavailable', 'maxSurge'].flatMap((f) =>
    shareProblems(r[f], `spec.strategy.rollingUpdate.${f}`, f),
  )
  if (shares.length > 0) return shares
  const isZero = (v: unknown) => v === 0 || v === '0%'
  return isZero(r['maxUnavailable']) && isZero(r['maxSurge'])
    ? [invalid('spec.strategy.rollingUpdate.maxUnavailable', r['maxUnavailable'], 'may not be 0 when `maxSurge` is 0')]
    : []
}
