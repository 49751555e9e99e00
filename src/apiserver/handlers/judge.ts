// The checks that creations and changes share: refusals, warnings, and requests to admission.
import { invalid as invalidField, type FieldError } from '../schema/field-error.ts'
import type { KubeObject, ObjectMeta } from '#api/schema/object.ts'
import type { Operation } from '../admission/chain.ts'
import type { WriteOptions } from '../http/query.ts'
import { repeatedOwners } from '../meta/identity.ts'
import type { Served } from '../registry/served.ts'
import { forbidden, invalid } from '../status/refusal.ts'
import type { Stored } from '../storage/stored.ts'
import type { Call } from './context.ts'
import { groupKind, groupResource } from './stored-place.ts'

/** The result of a write: the version now stored, or for a dry run the one that would be. */
export interface Written {
  readonly stored: Stored
  readonly created: boolean
}

export function refuseInvalid(served: Served, name: string, problems: readonly FieldError[]): void {
  if (problems.length > 0) throw invalid(groupKind(served), name, problems)
}

/** Of a custom resource, in the name of the kind that was sent. */
export function refuseOtherKind({ custom, type }: Served, name: string, { kind }: Pick<KubeObject, 'kind'>): void {
  if (custom && kind !== type.kind)
    throw invalid({ group: type.group, kind }, name, [invalidField('kind', kind, `must be ${type.kind}`)])
}

export function refuseForbidden(served: Served, object: KubeObject, why: string | undefined): void {
  if (why !== undefined) throw forbidden(groupResource(served), object.metadata.name ?? '', why)
}

export function warnAboutOwners(call: Call, meta: ObjectMeta): void {
  const repeated = repeatedOwners(meta.ownerReferences)
  if (repeated.length > 0)
    call.warnings.add(
      `.metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
    )
}

type Asked = Pick<Call, 'served' | 'user' | 'path' | 'query' | 'warnings'>

export function admissionRequest(
  call: Asked,
  operation: Operation,
  options: WriteOptions,
  old: KubeObject | undefined,
) {
  return {
    operation,
    served: call.served,
    subresource: call.path.subresource,
    namespace: call.path.namespace,
    name: call.path.name,
    pathName: call.path.name,
    object: undefined,
    old,
    user: call.user,
    dryRun: options.dryRun,
    options: operation === 'DELETE' ? undefined : sentOptions(call, operation, options),
    warn: (text: string) => void call.warnings.add(text),
  }
}

/** The options of the request as webhooks and policies receive them: as the client sent them, no defaults. */
function sentOptions({ query }: Pick<Call, 'query'>, operation: Operation, { dryRun, fieldManager }: WriteOptions) {
  const fieldValidation = query.get('fieldValidation') ?? ''
  return {
    kind: operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions',
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun ? { dryRun: ['All'] } : {}),
    ...(fieldManager === '' ? {} : { fieldManager }),
    ...(fieldValidation === '' ? {} : { fieldValidation }),
  }
}
