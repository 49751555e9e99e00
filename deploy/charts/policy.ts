// What an admission policy is, and the few forms of CEL that all of them are written in.
import { API_GROUP } from '#api/kind.ts'
import { metricsSecretName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { accountUserOf, userOf, type Program } from './system.ts'

export interface AdmissionRule {
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly operations: readonly string[]
  readonly resources: readonly string[]
}

export interface Named {
  readonly name: string
  readonly expression: string
}

export interface AdmissionPolicy {
  readonly name: string
  /** A ConfigMap that expressions read as `params`. While it is missing, the policy refuses nothing, or with `Deny` everything. */
  readonly parameter?: { readonly namespace: string; readonly name: string; readonly whenMissing?: 'Deny' }
  readonly rules: readonly AdmissionRule[]
  /** What it passes over. As with `namespaces`, the server then converts nothing, which conditions cannot spare it. */
  readonly except?: readonly AdmissionRule[]
  /** Where alone it looks. A server that passes over the other namespaces need not convert each object for the conditions, which every Lease of a kubelet would pay for. */
  readonly namespaces?: readonly string[]
  /** The same by a label of the namespaces, whose value is `true`. */
  readonly namespacesWith?: string
  readonly matchConditions: readonly Named[]
  readonly variables: readonly Named[]
  readonly validations: readonly {
    readonly expression: string
    readonly message: string
    /** Forbidden, unless said. */
    readonly reason?: 'Invalid'
  }[]
}

/** Each node and agent renews one every ten seconds, so few policies may match them. */
export const LEASES: AdmissionRule = {
  apiGroups: ['coordination.k8s.io'],
  apiVersions: ['*'],
  operations: ['*'],
  resources: ['leases'],
}

export const quoted = (text: string): string => `'${text}'`
export const inGroup = (group: string): string => `${quoted(group)} in request.userInfo.groups`
export const any = (...expressions: readonly string[]): string => expressions.map((e) => `(${e})`).join(' || ')
export const all = (...expressions: readonly string[]): string => expressions.map((e) => `(${e})`).join(' && ')

/** A value of `metadata`, with nothing for what is not there. */
export const valueOf = (object: 'object' | 'oldObject', field: 'annotations' | 'labels', key: string): string => {
  const map = `${object}.metadata.?${field}.orValue({})`
  const value = `${quoted(key)} in ${map} ? ${map}[${quoted(key)}] : ''`
  return `(${object} == null ? '' : (${value}))`
}

/** The request leaves out what is empty, such as the namespace of a cluster-scoped object: an expression that names it plainly fails, and so refuses. */
export const part = (field: 'subResource' | 'namespace' | 'name'): string =>
  `(has(request.${field}) ? request.${field} : '')`
export const REQUEST_NAMESPACE = part('namespace')

/** As the inside of a list. */
export const usersOf = (program: Program): string => [userOf(program), accountUserOf(program)].map(quoted).join(', ')
export const isProgram = (program: Program): string => `request.userInfo.username in [${usersOf(program)}]`
/** Each program keeps the certificate of its metrics in a Secret that the installer made. */
export const updatesOwnMetricsSecret = (program: string): string =>
  `(request.resource.group == '' && request.resource.resource == 'secrets' && request.operation == 'UPDATE' && ${REQUEST_NAMESPACE} == ${quoted(SYSTEM_NAMESPACE)} && request.name == ${quoted(metricsSecretName(program))})`

/** Has every right there is, or was given this one: a user who applies deploy/install needs it once programs run. */
export const isInstaller = `authorizer.group(${quoted(API_GROUP)}).resource('programs').check('install').allowed()`

export const isResource = (group: string, resource: string, subresource = ''): string =>
  all(
    `request.resource.group == ${quoted(group)}`,
    `request.resource.resource == ${quoted(resource)}`,
    `variables.sub == ${quoted(subresource)}`,
  )
export const operations = (...verbs: readonly string[]): string =>
  `request.operation in [${verbs.map(quoted).join(', ')}]`
