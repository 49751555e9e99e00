// Holds pods to the security level in the labels of their namespace: refuses pods, warns about pods and templates, and warns when a
// namespace gets a level that its existing pods violate.
import type { Logger } from '#lib/log.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { fields, listAt, specOf, text, type Fields } from '../../builtin/fields.ts'
import { forbidden, invalid } from '../../status/refusal.ts'
import type { Store } from '../../storage/store.ts'
import { writeAuditLine } from '../audit-line.ts'
import type { AdmissionLink, AdmissionRequest } from '../chain.ts'
import { detailsText, violationsOf } from './evaluate.ts'
import { existingPodsWarnings } from './existing-pods.ts'
import { isSame, isStricter, policyOf, textOf, type LevelVersion, type PodSecurityPolicy } from './levels.ts'
import { viewOfPod, type PodView } from './pod-view.ts'

export interface PodSecurityParts {
  readonly store: Store
  readonly log: Logger
}

export function podSecurity(parts: PodSecurityParts): AdmissionLink {
  return {
    validate(request) {
      const { served, operation, object } = request
      if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      if (served.resource === '/pods') judgePod(parts, request, object)
      else if (request.subresource !== '') return
      else if (served.resource === '/namespaces') judgeNamespace(parts, request, object)
      else if (TEMPLATES.has(served.resource)) judgeTemplate(parts, request, object)
    },
  }
}

function policyFor({ store }: PodSecurityParts, { namespace }: AdmissionRequest): PodSecurityPolicy {
  const found = store.latest({ resource: '/namespaces', namespace: '', name: namespace })?.value
  return policyOf(found?.metadata.labels)
}

/** Subresources that cannot change the fields that the checks read. */
const HARMLESS: ReadonlySet<string> = new Set([
  'attach',
  'binding',
  'eviction',
  'exec',
  'log',
  'portforward',
  'proxy',
  'status',
])

function judgePod(parts: PodSecurityParts, request: AdmissionRequest, pod: KubeObject): void {
  if (HARMLESS.has(request.subresource)) return
  const policy = policyFor(parts, request)
  if (isOpen(policy.enforce) && isOpen(policy.warn) && isOpen(policy.audit)) return
  if (request.old !== undefined && !changesContainers(specOf(pod), specOf(request.old))) return
  const view = viewOfPod(specOf(pod), pod.metadata.annotations)
  const found = detailsText(violationsOf(view, policy.enforce))
  // a refused pod is audited too, and gets no warning
  audit(parts, request, policy.audit, view)
  if (found !== '')
    throw forbidden(
      { group: '', plural: 'pods' },
      request.name,
      `violates PodSecurity ${JSON.stringify(textOf(policy.enforce))}: ${found}`,
    )
  warn(request, policy.warn, view)
}

const isOpen = ({ level }: LevelVersion): boolean => level === 'privileged'

/** Of the fields of a pod that may change, only images and ephemeral containers matter. */
function changesContainers(next: Fields, old: Fields): boolean {
  const images = (spec: Fields, list: string) => listAt(spec, list).map((c) => text(c['image']))
  const isOther = (list: string) => {
    const [now, before] = [images(next, list), images(old, list)]
    return now.length !== before.length || now.some((image, i) => image !== before[i])
  }
  const before = new Map(listAt(old, 'ephemeralContainers').map((c) => [c['name'], c['image']]))
  return (
    isOther('containers') ||
    isOther('initContainers') ||
    listAt(next, 'ephemeralContainers').some((c) => !before.has(c['name']) || before.get(c['name']) !== c['image'])
  )
}

/** The pod template of each kind that creates pods. */
const TEMPLATES: ReadonlyMap<string, (o: KubeObject) => unknown> = new Map([
  ['/podtemplates', (o: KubeObject) => o['template']],
  ['batch/cronjobs', (o: KubeObject) => fields(fields(specOf(o)['jobTemplate'])['spec'])['template']],
  ...[
    '/replicationcontrollers',
    'apps/replicasets',
    'apps/deployments',
    'apps/statefulsets',
    'apps/daemonsets',
    'batch/jobs',
  ].map((resource) => [resource, (o: KubeObject) => specOf(o)['template']] as const),
])

/** Templates get warnings only; the pods made from them are refused. */
function judgeTemplate(parts: PodSecurityParts, request: AdmissionRequest, object: KubeObject): void {
  const policy = policyFor(parts, request)
  if (isOpen(policy.warn) && isOpen(policy.audit)) return
  const template = TEMPLATES.get(request.served.resource)?.(object)
  if (template === undefined) return
  const { annotations } = fields(fields(template)['metadata'])
  const view = viewOfPod(fields(fields(template)['spec']), fields(annotations) as PodView['annotations'])
  audit(parts, request, policy.audit, view)
  warn(request, policy.warn, view)
}

const wouldViolate = (at: LevelVersion, view: PodView): string | undefined => {
  const found = detailsText(violationsOf(view, at))
  return found === '' ? undefined : `would violate PodSecurity ${JSON.stringify(textOf(at))}: ${found}`
}

function warn(request: AdmissionRequest, at: LevelVersion, view: PodView): void {
  const found = wouldViolate(at, view)
  if (found !== undefined) request.warn(found)
}

function audit({ log }: PodSecurityParts, request: AdmissionRequest, at: LevelVersion, view: PodView): void {
  const found = wouldViolate(at, view)
  if (found === undefined) return
  const annotations = { 'pod-security.kubernetes.io/audit-violations': found }
  writeAuditLine(log, request, { reason: 'PodSecurity', annotations })
}

function judgeNamespace({ store }: PodSecurityParts, request: AdmissionRequest, namespace: KubeObject): void {
  const next = policyOf(namespace.metadata.labels)
  const old = request.old === undefined ? undefined : policyOf(request.old.metadata.labels)
  const isNewProblem = JSON.stringify(next.problems) !== JSON.stringify(old?.problems ?? [])
  if (next.problems.length > 0 && isNewProblem)
    throw invalid({ group: '', kind: 'Namespace' }, request.name, next.problems)
  if (old === undefined || isOpen(next.enforce) || isSame(next.enforce, old.enforce)) return
  const isRelaxed = next.enforce.version === old.enforce.version && !isStricter(next.enforce.level, old.enforce.level)
  if (isRelaxed) return
  const pods = Array.from(store.collection('/pods').list(request.name), (s) => s.value)
  for (const text of existingPodsWarnings(pods, request.name, next.enforce)) request.warn(text)
}
