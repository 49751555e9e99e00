// src/api/ordinary-pods.ts in CEL: what makes a pod as strong as its node, and which Secrets it uses. src/declared/pod-powers.ts says the same of a commit.
import {
  ASKS,
  CLAIM_FIELDS,
  CONTAINER_FIELDS,
  HOOKS,
  MAX_PRIORITY,
  MAX_SECRETS,
  ORDINARY_ANNOTATIONS,
  ORDINARY_PROFILE,
  POD_FIELDS,
  POD_PATHS,
  PORT_FIELDS,
  POWERS_WHEN_TRUE,
  PROBES,
  PROFILES,
  PROJECTED_FIELDS,
  SECURITY_FIELDS,
  TOKEN_FIELDS,
  VOLUME_FIELDS,
} from '#api/ordinary-pods.ts'
import { all, any, quoted, type Named } from './policy.ts'

const oneOf = (words: readonly string[]): string => `[${words.map(quoted).join(', ')}]`
const lists = (of: string, ...names: readonly string[]): string =>
  names.map((name) => `${of}.?${name}.orValue([])`).join(' + ')

/** Each key is known, or a power that is not used. Maps are dynamic, so that a server that knows the types of pods does not wonder at the keys. */
const onlyHas = (map: string, fields: readonly string[]): string =>
  `dyn(${map}).all(k, k in ${oneOf(fields)} || (k in ${oneOf(POWERS_WHEN_TRUE)} && dyn(${map})[k] == false))`

const isPlainSecurity = (of: string): string => {
  const security = `${of}.?securityContext.orValue({})`
  return all(
    onlyHas(security, SECURITY_FIELDS),
    `${of}.?securityContext.?capabilities.?add.orValue([]).size() == 0`,
    ...PROFILES.map(
      (p) => `${of}.?securityContext.?${p}.?type.orValue(${quoted(ORDINARY_PROFILE)}) == ${quoted(ORDINARY_PROFILE)}`,
    ),
  )
}

const asksNoHost = (of: string): string => all(...ASKS.map((ask) => `${of}.?${ask}.?host.orValue('') == ''`))

const isPlainContainer = all(
  onlyHas('c', CONTAINER_FIELDS),
  isPlainSecurity('c'),
  `${lists('c', 'ports')}.all(p, ${onlyHas('p', PORT_FIELDS)})`,
  ...PROBES.map((probe) => asksNoHost(`c.?${probe}`)),
  ...HOOKS.map((hook) => asksNoHost(`c.?lifecycle.?${hook}`)),
)

const RESOURCE = 'request.resource.resource'
const pathTo = (of: string, path: readonly string[]): string =>
  path.length === 0 ? of : `${of}.?${path.join('.?')}.orValue({})`
const PATHS = [...new Set(Object.values(POD_PATHS).map((p) => p.join('.')))]
const resourcesAt = (path: string): readonly string[] =>
  Object.keys(POD_PATHS).filter((resource) => POD_PATHS[resource]?.join('.') === path)
const templateOf = (of: string): string =>
  PATHS.reduceRight(
    (rest, path) =>
      `${RESOURCE} in ${oneOf(resourcesAt(path))} ? dyn(${pathTo(of, path === '' ? [] : path.split('.'))}) : (${rest})`,
    'dyn({})',
  )

/** What another program wrote on a template that runs stays: a commit did not choose it. */
const ANNOTATIONS_BEFORE = 'variables.templateBefore.?metadata.?annotations.orValue({})'
const isOrdinaryAnnotation = any(
  ...ORDINARY_ANNOTATIONS.map((prefix) => `k.startsWith(${quoted(prefix)})`),
  `k in ${ANNOTATIONS_BEFORE} && variables.templateBefore.metadata.annotations[k] == variables.template.metadata.annotations[k]`,
)

/** A pod is ordinary when this holds of it; `variables.template` and those below are set. */
const isOrdinary = all(
  `variables.template.?metadata.?annotations.orValue({}).all(k, ${isOrdinaryAnnotation})`,
  onlyHas('variables.pod', POD_FIELDS),
  isPlainSecurity('variables.pod'),
  `variables.pod.?priority.orValue(0) <= ${MAX_PRIORITY}`,
  `${lists('variables.pod', 'volumes')}.all(v, ${onlyHas('v', VOLUME_FIELDS)})`,
  `${lists('variables.pod', 'volumes')}.all(v, v.?projected.?sources.orValue([]).all(s, ${onlyHas('s', PROJECTED_FIELDS)}))`,
  `${lists('variables.pod', 'volumes')}.all(v, v.?projected.?sources.orValue([]).all(s, ${onlyHas('s.?serviceAccountToken.orValue({})', TOKEN_FIELDS)}))`,
  `variables.claims.all(claim, ${onlyHas('claim.?spec.orValue({})', CLAIM_FIELDS)})`,
)

const names = (list: string, name: string): string => `${list}.map(e, e.?${name}.orValue(''))`
/** A name holds no comma; one with a comma is no Secret, and its parts have to be listed. */
const namesIn = (outer: string, list: string, name: string): string =>
  `(${outer}).map(o, o.?${list}.orValue([]).map(e, e.?${name}.orValue('')).join(','))`
const VOLUMES = lists('variables.pod', 'volumes')
const secretNames = [
  names(VOLUMES, 'secret.?secretName'),
  namesIn(VOLUMES, 'projected.?sources', 'secret.?name'),
  namesIn('variables.containers', 'envFrom', 'secretRef.?name'),
  namesIn('variables.containers', 'env', 'valueFrom.?secretKeyRef.?name'),
  names(lists('variables.pod', 'imagePullSecrets'), 'name'),
  names('variables.addedToAccount', 'name'),
].join(' + ')

/** `variables.secrets0` are all, `secrets1` those without the first, and so on: a question to the authorizer costs a third of what one expression may. */
const secretsLeft: readonly Named[] = Array.from({ length: MAX_SECRETS }, (_, n) => ({
  name: `secrets${n + 1}`,
  expression: `variables.secrets${n}.filter(s, s != variables.secrets${n}[0])`,
}))

/** Of policy kubenode-declared, after `declared`. */
export const podVariables: readonly Named[] = [
  {
    name: 'template',
    expression: `request.resource.group in ['', 'apps', 'batch'] ? (${templateOf('variables.declared')}) : dyn({})`,
  },
  {
    name: 'templateBefore',
    expression: `oldObject != null && request.resource.group in ['', 'apps', 'batch'] ? (${templateOf('oldObject')}) : dyn({})`,
  },
  { name: 'pod', expression: 'dyn(variables.template.?spec.orValue({}))' },
  { name: 'containers', expression: lists('variables.pod', 'containers', 'initContainers') },
  {
    name: 'claims',
    expression: `(${RESOURCE} == 'statefulsets' ? variables.declared.?spec.?volumeClaimTemplates.orValue([]) : []) + (${VOLUMES}).filter(v, has(v.ephemeral)).map(v, v.ephemeral.?volumeClaimTemplate.orValue({}))`,
  },
  {
    // The first is what a server filled in before; sync is asked about what is new.
    name: 'addedToAccount',
    expression: `request.resource.group == '' && ${RESOURCE} == 'serviceaccounts' && object != null ? (${lists('object', 'secrets', 'imagePullSecrets')}).filter(s, oldObject == null || !(s in (${lists('oldObject', 'secrets', 'imagePullSecrets')}))) : []`,
  },
  { name: 'secrets0', expression: `(${secretNames}).join(',').split(',').filter(s, s != '')` },
  ...secretsLeft,
]

export const podIsOrdinary = isOrdinary
export const containersAreOrdinary = `variables.containers.all(c, ${isPlainContainer})`

/** One expression for each Secret. */
export const eachSecret = (listed: (secret: string) => string): readonly string[] =>
  Array.from({ length: MAX_SECRETS }, (_, n) =>
    any('object == null', `variables.secrets${n}.size() == 0`, listed(`variables.secrets${n}[0]`)),
  )
export const noMoreSecrets = any('object == null', `variables.secrets${MAX_SECRETS}.size() == 0`)
