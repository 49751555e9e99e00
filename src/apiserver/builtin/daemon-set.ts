// Daemon sets.
import { numeric, rollingUpdateDefaults, appKind } from './app-kind.ts'
import { fields, specOf, text } from './fields.ts'
import type { BuiltinKind } from './kind.ts'
import * as s from './shape.ts'
import { ageColumn, appCondition, nameColumn, ownPods, workloadProblems, templateColumns } from './workload.ts'

export const daemonSet: BuiltinKind = {
  ...appKind('DaemonSet', 'daemonsets', 'ds'),
  schema: s.specAndStatus(
    s.struct('DaemonSetSpec', {
      ...ownPods,
      updateStrategy: s.always(
        s.struct(
          'DaemonSetUpdateStrategy',
          {
            type: s.withDefault(s.str, 'RollingUpdate'),
            rollingUpdate: s.pointer(
              s.struct('RollingUpdateDaemonSet', { maxUnavailable: s.intOrString, maxSurge: s.intOrString }),
            ),
          },
          { default: {} },
        ),
      ),
      minReadySeconds: s.int32,
      revisionHistoryLimit: s.withDefault(s.pointer(s.int32), 10),
    }),
    s.struct('DaemonSetStatus', {
      currentNumberScheduled: s.always(s.int32),
      numberMisscheduled: s.always(s.int32),
      desiredNumberScheduled: s.always(s.int32),
      numberReady: s.always(s.int32),
      observedGeneration: s.int64,
      updatedNumberScheduled: s.int32,
      numberAvailable: s.int32,
      numberUnavailable: s.int32,
      collisionCount: s.pointer(s.int32),
      conditions: appCondition('DaemonSetCondition'),
    }),
  ),
  columns: [
    nameColumn,
    numeric('Desired', 'status', 'desiredNumberScheduled'),
    numeric('Current', 'status', 'currentNumberScheduled'),
    numeric('Ready', 'status', 'numberReady'),
    numeric('Up-to-date', 'status', 'updatedNumberScheduled'),
    numeric('Available', 'status', 'numberAvailable'),
    {
      name: 'Node Selector',
      type: 'string',
      cell: (o) => {
        const wanted = Object.entries(fields(fields(fields(specOf(o)['template'])['spec'])['nodeSelector']))
        return wanted.length === 0 ? '<none>' : wanted.map(([k, v]) => `${k}=${text(v)}`).join(',')
      },
    },
    ageColumn,
    ...templateColumns,
  ],
  applyDefaults: rollingUpdateDefaults('updateStrategy', { maxUnavailable: 1, maxSurge: 0 }),
  prepareForCreate: (o) => ({
    ...o,
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  }),
  validate: (o, old) => workloadProblems(o, old, 'daemonset'),
}
