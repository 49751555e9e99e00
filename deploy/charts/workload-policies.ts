// workload-forms.ts in CEL: what holds of a workload of one form. A pod's controllers make its pods from the template, so the template is what is judged.
import { all, any, quoted, type Named } from './policy.ts'
import type { FieldsOf, WorkloadForm } from './workload-forms.ts'

const oneOf = (words: readonly string[]): string => `[${words.map(quoted).join(', ')}]`
/** Maps are dynamic, so that a server that knows the types of pods does not wonder at the keys. */
export const onlyKeys = (map: string, fields: readonly string[]): string => `dyn(${map}).all(k, k in ${oneOf(fields)})`
const literal = (value: string | number | boolean): string =>
  typeof value === 'string' ? quoted(value) : String(value)
const optional = (of: string, path: string): string => `${of}.?${path.replaceAll('.', '.?')}`
const listOf = (of: string, name: string): string => `${of}.?${name}.orValue([])`

const fixedOf = (of: string, { fixed = [] }: FieldsOf): readonly string[] =>
  fixed.map(({ field, is, whenAbsent }) => `${optional(of, field)}.orValue(${literal(whenAbsent)}) == ${literal(is)}`)

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const
const ASKS = ['httpGet', 'tcpSocket'] as const

const RESOURCE = 'request.resource.resource'
const templateOf = (object: 'object' | 'oldObject'): string =>
  `${object} == null ? dyn({}) : (${RESOURCE} == 'pods' ? dyn(${object}) : dyn(${object}.?spec.?template.orValue({})))`

/** Expressions of the form are written over these. */
export const formVariables = ({ pod }: WorkloadForm): readonly Named[] => [
  { name: 'template', expression: templateOf('object') },
  { name: 'pod', expression: 'dyn(variables.template.?spec.orValue({}))' },
  { name: 'before', expression: templateOf('oldObject') },
  { name: 'podBefore', expression: 'dyn(variables.before.?spec.orValue({}))' },
  {
    name: 'containers',
    expression: pod.containers.lists.map((list) => listOf('variables.pod', list)).join(' + '),
  },
  { name: 'volumes', expression: listOf('variables.pod', 'volumes') },
]

export interface Held {
  readonly what: string
  readonly expression: string
}

const specHas = ({ resources }: WorkloadForm): readonly string[] =>
  Object.entries(resources)
    // All that a pod has is judged as a template.
    .filter(([resource]) => resource !== 'pods')
    .map(([resource, fields]) => any(`${RESOURCE} != ${quoted(resource)}`, onlyKeys('object.spec', fields)))

const annotationsOf = ({ pod }: WorkloadForm): string =>
  `variables.template.?metadata.?annotations.orValue({}).all(k, k in ${oneOf(pod.annotations)} || (k in variables.before.?metadata.?annotations.orValue({}) && variables.before.metadata.annotations[k] == variables.template.metadata.annotations[k]))`

/** Each is one expression, so that a refusal says which part is wrong. */
export function formHolds(form: WorkloadForm): readonly Held[] {
  const { pod } = form
  const { containers } = pod
  const security = (of: string, fields: FieldsOf): readonly string[] => [
    onlyKeys(`${of}.?securityContext.orValue({})`, fields.fields),
    ...fixedOf(`${of}.?securityContext`, fields),
  ]
  const each = (...holds: readonly string[]): string => `variables.containers.all(c, ${all(...holds)})`
  const isKept = `(k in ${oneOf(pod.kept)} && k in variables.podBefore && variables.podBefore[k] == variables.pod[k])`
  return [
    {
      what: 'fields of the workload and annotations of its pods',
      expression: all(...specHas(form), annotationsOf(form)),
    },
    {
      what: 'fields of the pod: no namespace, file, device or node of its choice',
      expression: all(
        `dyn(variables.pod).all(k, k in ${oneOf(pod.fields)}${pod.kept.length === 0 ? '' : ` || ${isKept}`})`,
        ...fixedOf('variables.pod', pod),
        ...security('variables.pod', pod.security),
      ),
    },
    {
      what: 'the account of a pod, which has no rights',
      expression: all(
        ...['serviceAccountName', 'serviceAccount'].map(
          (field) => `variables.pod.?${field}.orValue(${quoted(pod.accounts[0] ?? '')}) in ${oneOf(pod.accounts)}`,
        ),
      ),
    },
    {
      what: 'kinds of volumes',
      expression: `variables.volumes.all(v, ${onlyKeys('v', ['name', ...pod.volumes])})`,
    },
    {
      what: 'containers, their number and their fields',
      expression: all(
        ...(containers.most === undefined ? [] : [`variables.containers.size() <= ${containers.most}`]),
        each(
          onlyKeys('c', containers.fields),
          `${listOf('c', 'ports')}.all(p, ${onlyKeys('p', containers.ports ?? [])})`,
          `${listOf('c', 'volumeMounts')}.all(m, ${onlyKeys('m', containers.mounts)})`,
        ),
      ),
    },
    {
      what: 'privileges of containers: none',
      expression: each(
        ...security('c', containers.security),
        onlyKeys(`c.?securityContext.?capabilities.orValue({})`, ['drop']),
        `c.?securityContext.?capabilities.?drop.orValue([]) == ['ALL']`,
        ...(containers.security.fields.includes('seccompProfile')
          ? [`c.?securityContext.?seccompProfile.?type.orValue('RuntimeDefault') == 'RuntimeDefault'`]
          : []),
      ),
    },
    {
      what: 'checks of containers, which ask their own pod',
      expression: each(
        ...PROBES.map((probe) =>
          all(
            onlyKeys(`c.?${probe}.orValue({})`, containers.probes ?? []),
            ...ASKS.map((ask) => `c.?${probe}.?${ask}.?host.orValue('') == ''`),
          ),
        ),
      ),
    },
    ...(containers.programs === undefined
      ? []
      : [
          {
            what: `programs ${containers.programs.join(', ')}`,
            expression: each(
              `c.?command.orValue([]).size() > 0`,
              `c.command[0] in ${oneOf(containers.programs)}`,
              `c.?args.orValue([]).size() == 0`,
            ),
          },
        ]),
    ...(containers.variables === undefined
      ? []
      : [
          {
            what: `variables ${containers.variables.join(', ')}`,
            expression: each(
              `c.?env.orValue([]).all(e, ${all(
                onlyKeys('e', ['name', 'value', 'valueFrom']),
                `e.name in ${oneOf(containers.variables)}`,
                onlyKeys('e.?valueFrom.orValue({})', ['configMapKeyRef', 'fieldRef']),
              )})`,
            ),
          },
        ]),
    ...(pod.also === undefined ? [] : [{ what: 'what else its form says', expression: all(...pod.also) }]),
  ]
}
