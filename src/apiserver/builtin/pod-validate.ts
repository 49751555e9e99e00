// The checks of a real server on a pod's spec that clients encounter, in its words.
import { isObject } from '#lib/json.ts'
import { duplicate, forbidden, invalid, notFound, notSupported, required } from './field-problem.ts'
import type { FieldProblem } from './field-problem.ts'
import { listAt, text } from './fields.ts'
import type { Fields } from './fields.ts'
import { quantityValue } from '#lib/quantity.ts'

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const LABEL_MAX = 63
const ENV_NAME = /^[^\p{C}=]+$/u
const RESTART = ['Always', 'OnFailure', 'Never']
const DNS = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
const PULL = ['Always', 'IfNotPresent', 'Never']
const PROTOCOLS = ['SCTP', 'TCP', 'UDP']
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const MAX_PORT = 65_535

export function labelProblems(value: string, field: string): FieldProblem[] {
  if (value === '') return [required(field)]
  if (value.length > LABEL_MAX) return [invalid(field, value, 'must be no more than 63 characters')]
  return LABEL.test(value) ? [] : [invalid(field, value, LABEL_TEXT)]
}

export const isPort = (n: unknown): boolean => typeof n === 'number' && n >= 1 && n <= MAX_PORT
export const PORT_TEXT = 'must be between 1 and 65535, inclusive'

const oneOf = (value: unknown, allowed: readonly string[], field: string): FieldProblem[] =>
  allowed.includes(text(value)) ? [] : text(value) === '' ? [required(field)] : [notSupported(field, value, allowed)]

/** Requests above limits, and amounts below zero. Values are canonical by now. */
function resourceProblems(resources: unknown, field: string): FieldProblem[] {
  if (!isObject(resources)) return []
  const limits = isObject(resources['limits']) ? resources['limits'] : {}
  const requests = isObject(resources['requests']) ? resources['requests'] : {}
  const out: FieldProblem[] = []
  for (const [part, amounts] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const [name, amount] of Object.entries(amounts)) {
      if ((quantityValue(amount) ?? 0) < 0)
        out.push(invalid(`${field}.${part}[${name}]`, amount, 'must be greater than or equal to 0'))
    }
  }
  for (const [name, asked] of Object.entries(requests)) {
    const limit = limits[name]
    if (limit !== undefined && (quantityValue(asked) ?? 0) > (quantityValue(limit) ?? 0)) {
      out.push(invalid(`${field}.requests`, asked, `must be less than or equal to ${name} limit of ${text(limit)}`))
    }
  }
  return out
}

function containerProblems(c: Fields, field: string, volumes: ReadonlySet<string>): FieldProblem[] {
  const out: FieldProblem[] = []
  out.push(...labelProblems(text(c['name']), `${field}.name`))
  if (text(c['image']).trim() === '') out.push(required(`${field}.image`))
  listAt(c, 'ports').forEach((p, i) => {
    const at = `${field}.ports[${i}]`
    if (p['containerPort'] === undefined || p['containerPort'] === 0) out.push(required(`${at}.containerPort`))
    else if (!isPort(p['containerPort'])) out.push(invalid(`${at}.containerPort`, p['containerPort'], PORT_TEXT))
    if (p['hostPort'] && !isPort(p['hostPort'])) out.push(invalid(`${at}.hostPort`, p['hostPort'], PORT_TEXT))
    out.push(...oneOf(p['protocol'], PROTOCOLS, `${at}.protocol`))
  })
  listAt(c, 'env').forEach((e, i) => {
    const name = text(e['name'])
    if (name === '') out.push(required(`${field}.env[${i}].name`))
    else if (!ENV_NAME.test(name))
      out.push(
        invalid(
          `${field}.env[${i}].name`,
          name,
          "a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
      )
    if (isObject(e['valueFrom']) && text(e['value']) !== '')
      out.push(invalid(`${field}.env[${i}].valueFrom`, '', 'may not be specified when `value` is not empty'))
  })
  const mounted = new Set<string>()
  listAt(c, 'volumeMounts').forEach((m, i) => {
    const at = `${field}.volumeMounts[${i}]`
    const name = text(m['name'])
    const path = text(m['mountPath'])
    if (name === '') out.push(required(`${at}.name`))
    if (!volumes.has(name)) out.push(notFound(`${at}.name`, name))
    if (path === '') out.push(required(`${at}.mountPath`))
    else if (mounted.has(path)) out.push(invalid(`${at}.mountPath`, path, 'must be unique'))
    mounted.add(path)
  })
  out.push(...oneOf(c['imagePullPolicy'], PULL, `${field}.imagePullPolicy`))
  out.push(...resourceProblems(c['resources'], `${field}.resources`))
  return out
}

function volumeProblems(spec: Fields, field: string): { problems: FieldProblem[]; names: ReadonlySet<string> } {
  const names = new Set<string>()
  const problems: FieldProblem[] = []
  listAt(spec, 'volumes').forEach((v, i) => {
    const at = `${field}.volumes[${i}]`
    const name = text(v['name'])
    const wrong = labelProblems(name, `${at}.name`)
    problems.push(...wrong)
    if (names.has(name)) problems.push(duplicate(`${at}.name`, name))
    if (wrong.length === 0) names.add(name)
    const sources = Object.keys(v).filter((k) => k !== 'name')
    if (sources.length === 0) problems.push(required(at, 'must specify a volume type'))
    for (const extra of sources.slice(1))
      problems.push(forbidden(`${at}.${extra}`, 'may not specify more than 1 volume type'))
  })
  return { problems, names }
}

/** The fields that an ephemeral container may set. */
const EPHEMERAL_FIELDS: ReadonlySet<string> = new Set([
  'name',
  'image',
  'command',
  'args',
  'workingDir',
  'envFrom',
  'env',
  'volumeMounts',
  'volumeDevices',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'imagePullPolicy',
  'securityContext',
  'stdin',
  'stdinOnce',
  'tty',
  'targetContainerName',
])

function ephemeralProblems(c: Fields, at: string, others: ReadonlySet<string>): FieldProblem[] {
  const refused = 'cannot be set for an Ephemeral Container'
  const target = text(c['targetContainerName'])
  const isSet = (v: unknown) => v !== undefined && !(typeof v === 'object' && v !== null && Object.keys(v).length === 0)
  return [
    ...(target === '' || others.has(target) ? [] : [notFound(`${at}.targetContainerName`, target)]),
    ...Object.keys(c)
      .filter((field) => !EPHEMERAL_FIELDS.has(field) && isSet(c[field]))
      .map((field) => forbidden(`${at}.${field}`, refused)),
    ...listAt(c, 'volumeMounts').flatMap((m, i) =>
      ['subPath', 'subPathExpr']
        .filter((field) => text(m[field]) !== '')
        .map((field) => forbidden(`${at}.volumeMounts[${i}].${field}`, refused)),
    ),
  ]
}

function containerListProblems(spec: Fields, field: string, volumes: ReadonlySet<string>): FieldProblem[] {
  const out: FieldProblem[] = []
  const seen = new Set<string>()
  const lasting = new Set(['containers', 'initContainers'].flatMap((l) => listAt(spec, l).map((c) => text(c['name']))))
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    listAt(spec, list).forEach((c, i) => {
      const at = `${field}.${list}[${i}]`
      out.push(...containerProblems(c, at, volumes))
      const name = text(c['name'])
      if (name !== '' && seen.has(name)) out.push(duplicate(`${at}.name`, name))
      seen.add(name)
      if (list === 'ephemeralContainers') out.push(...ephemeralProblems(c, at, lasting))
    })
  }
  if (listAt(spec, 'containers').length === 0) out.push(required(`${field}.containers`))
  return out
}

export function podSpecProblems(spec: Fields, field: string, claims: readonly string[] = []): FieldProblem[] {
  const { problems, names } = volumeProblems(spec, field)
  const out = [...problems, ...containerListProblems(spec, field, new Set([...names, ...claims]))]
  out.push(...oneOf(spec['restartPolicy'], RESTART, `${field}.restartPolicy`))
  out.push(...oneOf(spec['dnsPolicy'], DNS, `${field}.dnsPolicy`))
  const grace = spec['terminationGracePeriodSeconds']
  if (typeof grace === 'number' && grace < 0)
    out.push(invalid(`${field}.terminationGracePeriodSeconds`, grace, 'must be greater than or equal to 0'))
  const deadline = spec['activeDeadlineSeconds']
  if (typeof deadline === 'number' && deadline < 1)
    out.push(invalid(`${field}.activeDeadlineSeconds`, deadline, 'must be between 1 and 2147483647, inclusive'))
  listAt(spec, 'tolerations').forEach((t, i) => {
    const at = `${field}.tolerations[${i}]`
    const effect = text(t['effect'])
    if (effect !== '' && !EFFECTS.includes(effect)) out.push(notSupported(`${at}.effect`, effect, EFFECTS))
    const operator = text(t['operator'])
    if (operator !== '' && !['Equal', 'Exists'].includes(operator))
      out.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']))
    if (operator === 'Exists' && text(t['value']) !== '')
      out.push(invalid(at, t['value'], "value must be empty when `operator` is 'Exists'"))
  })
  return out
}

/** The pods of a workload. A stateful set gives each a volume for each of its claims, which its template does not list. */
export function templateProblems(spec: Fields, field: string): FieldProblem[] {
  const template = isObject(spec['template']) ? spec['template'] : {}
  const podFields = isObject(template['spec']) ? template['spec'] : {}
  const claims = listAt(spec, 'volumeClaimTemplates').flatMap(({ metadata }) =>
    isObject(metadata) ? [text(metadata['name'])] : [],
  )
  return podSpecProblems(podFields, `${field}.template.spec`, claims)
}
