// The declared types of what admission expressions see: the request and the namespace; objects and parameters are dyn.
import { AUTHORIZER } from './library-authorizer.ts'
import type { CelEnv } from './cel.ts'
import { BOOL, type CelType, DYN, INT, listOf, mapOf, objectOf, STRING, TIMESTAMP } from './types.ts'

const object = (name: string, fields: Readonly<Record<string, CelType>>): CelType =>
  objectOf(name, new Map(Object.entries(fields).map(([key, type]) => [key, { name: key, type }])))

const STRINGS = listOf(STRING)
const STRING_MAP = mapOf(STRING, STRING)

const groupVersion = (what: 'kind' | 'resource'): CelType =>
  object(what === 'kind' ? 'kubernetes.GroupVersionKind' : 'kubernetes.GroupVersionResource', {
    group: STRING,
    version: STRING,
    [what]: STRING,
  })

const USER_INFO = object('kubernetes.UserInfo', {
  username: STRING,
  uid: STRING,
  groups: STRINGS,
  extra: mapOf(STRING, STRINGS),
})

const REQUEST_TYPE = object('kubernetes.AdmissionRequest', {
  kind: groupVersion('kind'),
  resource: groupVersion('resource'),
  subResource: STRING,
  requestKind: groupVersion('kind'),
  requestResource: groupVersion('resource'),
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: USER_INFO,
  dryRun: BOOL,
  options: DYN,
})

const NAMESPACE_TYPE = object('kubernetes.Namespace', {
  metadata: object('kubernetes.NamespaceMetadata', {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: STRING_MAP,
    annotations: STRING_MAP,
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: STRINGS,
  }),
  spec: object('kubernetes.NamespaceSpec', { finalizers: STRINGS }),
  status: object('kubernetes.NamespaceStatus', {
    conditions: listOf(
      object('kubernetes.NamespaceCondition', {
        status: STRING,
        type: STRING,
        lastTransitionTime: TIMESTAMP,
        message: STRING,
        reason: STRING,
      }),
    ),
    phase: STRING,
  }),
})

/** What every expression may read; `params` exists only where a policy has a kind of parameters. */
export function admissionEnv(hasParams: boolean): CelEnv {
  const variables = {
    object: DYN,
    oldObject: DYN,
    namespaceObject: NAMESPACE_TYPE,
    request: REQUEST_TYPE,
    authorizer: AUTHORIZER,
  }
  return { variables: hasParams ? { ...variables, params: DYN } : variables }
}
