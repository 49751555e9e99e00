// The options of a deletion, from its body or else its query, checked in the words of a kube-apiserver.
import { goJsonKind } from '#lib/go-text.ts'
import { isObject } from '#lib/json.ts'
import { invalid as invalidField, notSupported, type FieldError } from '../schema/field-error.ts'
import { formatJson } from '../codec/json.ts'
import { mediaType, readBody, readValue } from '../http/body.ts'
import { badRequest, invalid } from '../status/refusal.ts'
import type { Call } from './context.ts'

export type Propagation = 'Foreground' | 'Background' | 'Orphan'

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined
  readonly propagation: Propagation | undefined
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly dryRun: boolean
}

const PROPAGATIONS: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil']
const OPTIONS_SCHEME = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27'

/** A body replaces what the query says. */
export async function deleteOptions(call: Pick<Call, 'request' | 'query' | 'level'>): Promise<DeleteOptions> {
  const body = await readBody(call.request)
  if (body.length === 0) return checkedOptions(fromQuery(call.query))
  const media = mediaType(call.request)
  const { value } = await readValue(body, media === '' ? 'application/json' : media, undefined, call.level.yamlBytes)
  return checkedOptions(fromBody(value ?? {}))
}

interface RawOptions {
  readonly grace: unknown
  readonly propagation: unknown
  readonly orphan: unknown
  readonly uid: unknown
  readonly resourceVersion: unknown
  readonly dryRun: readonly string[]
}

function fromQuery(query: URLSearchParams): RawOptions {
  const grace = query.get('gracePeriodSeconds')
  const orphan = query.get('orphanDependents')
  if (grace !== null && !/^[+-]?\d+$/.test(grace))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`)
  return {
    grace: grace === null ? undefined : Number(grace),
    propagation: query.get('propagationPolicy') ?? undefined,
    orphan: orphan === null ? undefined : orphan !== 'false' && orphan !== '0',
    uid: query.get('preconditions.uid') ?? undefined,
    resourceVersion: query.get('preconditions.resourceVersion') ?? undefined,
    dryRun: query.getAll('dryRun').filter((d) => d !== ''),
  }
}

const TYPED = [
  ['gracePeriodSeconds', 'number', 'int64'],
  ['orphanDependents', 'boolean', 'bool'],
  ['propagationPolicy', 'string', 'v1.DeletionPropagation'],
] as const

function fromBody(body: { readonly [field: string]: unknown }): RawOptions {
  const { kind, apiVersion } = body
  if (kind !== undefined && kind !== '' && kind !== 'DeleteOptions')
    throw badRequest(
      `no kind ${formatJson(kind)} is registered for version ${formatJson(apiVersion ?? '')} in scheme ${JSON.stringify(OPTIONS_SCHEME)}`,
    )
  for (const [field, type, go] of TYPED)
    if (body[field] !== undefined && body[field] !== null && typeof body[field] !== type)
      throw badRequest(
        `json: cannot unmarshal ${goJsonKind(body[field])} into Go struct field DeleteOptions.${field} of type ${go}`,
      )
  const preconditions = isObject(body['preconditions']) ? body['preconditions'] : {}
  const dryRun = body['dryRun']
  return {
    grace: body['gracePeriodSeconds'] ?? undefined,
    propagation: body['propagationPolicy'] ?? undefined,
    orphan: body['orphanDependents'] ?? undefined,
    uid: preconditions['uid'] ?? undefined,
    resourceVersion: preconditions['resourceVersion'] ?? undefined,
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
  }
}

function checkedOptions(raw: RawOptions): DeleteOptions {
  const problems: FieldError[] = []
  if (raw.propagation !== undefined && raw.orphan !== undefined)
    problems.push(
      invalidField('propagationPolicy', raw.propagation, 'orphanDependents and deletionPropagation cannot be both set'),
    )
  else if (raw.propagation !== undefined && !PROPAGATIONS.slice(0, 3).includes(String(raw.propagation)))
    problems.push(notSupported('propagationPolicy', raw.propagation, PROPAGATIONS))
  if (!raw.dryRun.every((d) => d === 'All')) problems.push(notSupported('dryRun', raw.dryRun, ['All']))
  if (problems.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', problems)
  const grace = typeof raw.grace === 'number' ? raw.grace : undefined
  return {
    // a negative grace period means the shortest one
    gracePeriodSeconds: grace !== undefined && grace < 0 ? 1 : grace,
    propagation: propagationOf(raw),
    uid: typeof raw.uid === 'string' ? raw.uid : undefined,
    resourceVersion: typeof raw.resourceVersion === 'string' ? raw.resourceVersion : undefined,
    dryRun: raw.dryRun.length > 0,
  }
}

function propagationOf(raw: RawOptions): Propagation | undefined {
  if (typeof raw.propagation === 'string') return raw.propagation as Propagation
  if (typeof raw.orphan === 'boolean') return raw.orphan ? 'Orphan' : 'Background'
  return undefined
}
