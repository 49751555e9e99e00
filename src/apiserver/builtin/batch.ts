// Jobs and cron jobs.
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { invalid, required, notSupported } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { fields, listAt, number, shown, specOf, statusOf, text } from './fields.ts'
import type { Fields } from './fields.ts'
import type { BuiltinKind, BuiltinSchema, Column, Draft, StrategyContext } from './kind.ts'
import { podTemplate, templateDefaults } from './pod-spec.ts'
import { templateMeta } from './pod-volumes.ts'
import { templateProblems } from './pod-validate.ts'
import * as s from './shape.ts'
import { ageColumn, nameColumn, selectorText, templateColumns } from './workload.ts'

const jobSpec: BuiltinSchema = s.struct('JobSpec', {
  parallelism: s.pointer(s.int32),
  completions: s.pointer(s.int32),
  activeDeadlineSeconds: s.pointer(s.int64),
  podFailurePolicy: s.pointer(
    s.struct('PodFailurePolicy', {
      rules: s.always(
        s.listOf(
          s.struct('PodFailurePolicyRule', {
            action: s.always(s.str),
            onExitCodes: s.pointer(
              s.struct('PodFailurePolicyOnExitCodesRequirement', {
                containerName: s.pointer(s.str),
                operator: s.always(s.str),
                values: s.always(s.listOf(s.int32, { 'x-kubernetes-list-type': 'set' })),
              }),
            ),
            onPodConditions: s.listOf(
              s.struct('PodFailurePolicyOnPodConditionsPattern', {
                type: s.always(s.str),
                status: s.always(s.withDefault(s.str, 'True')),
              }),
            ),
          }),
        ),
      ),
    }),
  ),
  successPolicy: s.pointer(
    s.struct('SuccessPolicy', {
      rules: s.always(
        s.listOf(
          s.struct('SuccessPolicyRule', { succeededIndexes: s.pointer(s.str), succeededCount: s.pointer(s.int32) }),
        ),
      ),
    }),
  ),
  backoffLimit: s.withDefault(s.pointer(s.int32), 6),
  backoffLimitPerIndex: s.pointer(s.int32),
  maxFailedIndexes: s.pointer(s.int32),
  selector: s.labelSelector,
  manualSelector: s.pointer(s.bool),
  template: s.always(podTemplate),
  ttlSecondsAfterFinished: s.pointer(s.int32),
  completionMode: s.withDefault(s.pointer(s.str), 'NonIndexed'),
  suspend: s.withDefault(s.pointer(s.bool), false),
  podReplacementPolicy: s.pointer(s.str),
  managedBy: s.pointer(s.str),
})

const jobStatus = s.struct('JobStatus', {
  conditions: s.listOf(
    s.struct('JobCondition', {
      type: s.always(s.str),
      status: s.always(s.str),
      lastProbeTime: s.nullTime,
      lastTransitionTime: s.nullTime,
      reason: s.str,
      message: s.str,
    }),
    { 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'type' },
  ),
  startTime: s.time,
  completionTime: s.time,
  active: s.int32,
  succeeded: s.int32,
  failed: s.int32,
  terminating: s.pointer(s.int32),
  completedIndexes: s.str,
  failedIndexes: s.pointer(s.str),
  uncountedTerminatedPods: s.pointer(
    s.struct('UncountedTerminatedPods', {
      succeeded: s.listOf(s.str, { 'x-kubernetes-list-type': 'set' }),
      failed: s.listOf(s.str, { 'x-kubernetes-list-type': 'set' }),
    }),
  ),
  ready: s.pointer(s.int32),
})

/** One run to completion unless the job says how many. */
function jobDefaults(spec: Fields): Fields {
  const bothOpen = spec['completions'] === undefined && spec['parallelism'] === undefined
  return {
    ...templateDefaults(spec),
    ...(bothOpen ? { completions: 1 } : {}),
    parallelism: spec['parallelism'] ?? 1,
    podReplacementPolicy:
      spec['podReplacementPolicy'] ?? (spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed'),
  }
}

/** The labels by which a job finds its pods: its own uid, which no client can choose. */
function prepareJob(o: Draft, _ctx: StrategyContext): Draft {
  const spec = specOf(o)
  if (spec['manualSelector'] === true) return { ...o, status: {} }
  const uid = o.metadata.uid ?? ''
  const name = o.metadata.name ?? ''
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  }
  const template = fields(spec['template'])
  const meta = fields(template['metadata'])
  const selector = fields(spec['selector'])
  return {
    ...o,
    // A job without labels gets those of its template, as old servers did; clients rely on it.
    metadata:
      Object.keys(o.metadata.labels ?? {}).length === 0
        ? { ...o.metadata, labels: { ...(fields(meta['labels']) as Record<string, string>), ...labels } }
        : o.metadata,
    spec: {
      ...spec,
      selector: {
        ...selector,
        matchLabels: { ...fields(selector['matchLabels']), 'batch.kubernetes.io/controller-uid': uid },
      },
      template: { ...template, metadata: { ...meta, labels: { ...fields(meta['labels']), ...labels } } },
    },
    status: {},
  }
}

function jobProblems(spec: Fields, field: string): FieldProblem[] {
  const out: FieldProblem[] = []
  for (const name of [
    'parallelism',
    'completions',
    'backoffLimit',
    'activeDeadlineSeconds',
    'ttlSecondsAfterFinished',
  ]) {
    const n = spec[name]
    if (typeof n === 'number' && n < 0) out.push(invalid(`${field}.${name}`, n, 'must be greater than or equal to 0'))
  }
  const policy = text(fields(fields(spec['template'])['spec'])['restartPolicy'])
  const rest = templateProblems(spec, field)
  out.push(...rest)
  if (policy === 'Always')
    out.push(required(`${field}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"'))
  return out
}

const JOB_FROZEN = [
  'selector',
  'completions',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const

function validateJob(o: KubeObject, old: KubeObject | undefined): readonly FieldProblem[] {
  const spec = specOf(o)
  const before = old === undefined ? undefined : specOf(old)
  const changed = JOB_FROZEN.filter((f) => before !== undefined && !jsonEqual(spec[f], before[f]))
  const template =
    before !== undefined && before['suspend'] !== true && !jsonEqual(spec['template'], before['template'])
      ? [invalid('spec.template', spec['template'], 'field is immutable')]
      : []
  return [
    ...jobProblems(spec, 'spec'),
    ...changed.map((f) => invalid(`spec.${f}`, spec[f], 'field is immutable')),
    ...template,
  ]
}

const finished = (o: KubeObject): string => {
  const isTrue = (type: string) =>
    listAt(statusOf(o), 'conditions').some((c) => c['type'] === type && c['status'] === 'True')
  if (isTrue('Complete')) return 'Complete'
  if (isTrue('Failed')) return 'Failed'
  if (o.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return isTrue('Suspended') ? 'Suspended' : 'Running'
}

const job: BuiltinKind = {
  type: { group: 'batch', version: 'v1', kind: 'Job', plural: 'jobs', namespaced: true },
  categories: ['all'],
  subresources: ['status'],
  generation: true,
  schema: s.specAndStatus(jobSpec, jobStatus),
  selectableFields: { 'status.successful': (o) => String(number(statusOf(o)['succeeded'])) },
  columns: [
    nameColumn,
    { name: 'Status', type: 'string', cell: finished },
    {
      name: 'Completions',
      type: 'string',
      cell: (o) => `${number(statusOf(o)['succeeded'])}/${number(specOf(o)['completions']) || 1}`,
    },
    { name: 'Duration', type: 'string', cell: () => '' },
    ageColumn,
    ...templateColumns,
  ],
  applyDefaults: (o) => ({ ...o, spec: { manualSelector: false, ...jobDefaults(specOf(o)) } }),
  prepareForCreate: prepareJob,
  validate: validateJob,
  // By default its pods become orphans, for clients older than garbage collection.
  defaultPropagation: 'Orphan',
}

/** What it makes, to be shown as that is. */
const ofJob = (o: KubeObject): KubeObject => ({ ...o, spec: fields(fields(specOf(o)['jobTemplate'])['spec']) })

const POLICIES = ['Allow', 'Forbid', 'Replace']
const NICKNAMES = /^@(annually|yearly|monthly|weekly|daily|midnight|hourly|every .+)$/

function scheduleProblems(spec: Fields): FieldProblem[] {
  const out: FieldProblem[] = []
  const schedule = text(spec['schedule'])
  const parts = schedule.trim().split(/\s+/)
  if (schedule === '') out.push(required('spec.schedule'))
  else if (/TZ/.test(schedule))
    out.push(invalid('spec.schedule', schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'))
  else if (!NICKNAMES.test(schedule) && parts.length !== 5)
    out.push(
      invalid('spec.schedule', schedule, `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`),
    )
  const zone = spec['timeZone']
  if (zone === '') out.push(invalid('spec.timeZone', zone, 'timeZone must be nil or non-empty string'))
  else if (typeof zone === 'string' && !isTimeZone(zone))
    out.push(invalid('spec.timeZone', zone, `unknown time zone ${zone}`))
  const policy = text(spec['concurrencyPolicy'])
  if (!POLICIES.includes(policy)) out.push(notSupported('spec.concurrencyPolicy', policy, POLICIES))
  return out
}

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

const cronJob: BuiltinKind = {
  type: { group: 'batch', version: 'v1', kind: 'CronJob', plural: 'cronjobs', namespaced: true },
  shortNames: ['cj'],
  categories: ['all'],
  subresources: ['status'],
  generation: true,
  schema: s.specAndStatus(
    s.struct('CronJobSpec', {
      schedule: s.always(s.str),
      timeZone: s.pointer(s.str),
      startingDeadlineSeconds: s.pointer(s.int64),
      concurrencyPolicy: s.withDefault(s.str, 'Allow'),
      suspend: s.withDefault(s.pointer(s.bool), false),
      jobTemplate: s.always(s.struct('JobTemplateSpec', { metadata: s.always(templateMeta), spec: jobSpec })),
      successfulJobsHistoryLimit: s.withDefault(s.pointer(s.int32), 3),
      failedJobsHistoryLimit: s.withDefault(s.pointer(s.int32), 1),
    }),
    s.struct('CronJobStatus', {
      active: s.listOf(s.objectReference()),
      lastScheduleTime: s.time,
      lastSuccessfulTime: s.time,
    }),
  ),
  columns: [
    nameColumn,
    { name: 'Schedule', type: 'string', cell: (o) => text(specOf(o)['schedule']) },
    { name: 'Timezone', type: 'string', cell: (o) => shown(specOf(o)['timeZone']) },
    { name: 'Suspend', type: 'boolean', cell: (o) => (specOf(o)['suspend'] === true ? 'True' : 'False') },
    { name: 'Active', type: 'integer', cell: (o) => listAt(statusOf(o), 'active').length },
    { name: 'Last Schedule', type: 'string', cell: (o) => shown(statusOf(o)['lastScheduleTime']) },
    ageColumn,
    ...templateColumns.slice(0, 2).map((c): Column => ({ ...c, cell: (o, now) => c.cell(ofJob(o), now) })),
    { name: 'Selector', type: 'string', priority: 1, cell: (o) => selectorText(specOf(ofJob(o))['selector']) },
  ],
  applyDefaults: (o) => {
    const spec = specOf(o)
    const template = fields(spec['jobTemplate'])
    const inner = templateDefaults(fields(template['spec']))
    return { ...o, spec: { ...spec, jobTemplate: { ...template, spec: inner } } }
  },
  prepareForCreate: (o) => ({ ...o, status: {} }),
  validate: (o) => [
    ...scheduleProblems(specOf(o)),
    ...jobProblems(fields(fields(specOf(o)['jobTemplate'])['spec']), 'spec.jobTemplate.spec'),
  ],
}

export const batchKinds = [job, cronJob] as const
