// Validates the metadata of an object, on creation and on change, in the words and fields of a kube-apiserver.
import { jsonEqual } from '#lib/json.ts'
import { forbidden, invalid, StructValue, tooLong, type FieldError } from '../schema/field-error.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '#api/schema/object.ts'
import { immutable } from '../builtin/field-problem.ts'
import type { Served } from '../registry/served.ts'
import { qualifiedNameProblems } from '#api/schema/name-problems.ts'
import { generateNameProblems, labelProblems, nameProblems, nameRequired } from './names.ts'

const MAX_ANNOTATION_BYTES = 256 * 1024
const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion'])

export function metadataProblems(served: Served, object: KubeObject): readonly FieldError[] {
  const meta = object.metadata
  const out: FieldError[] = []
  if (meta.generateName !== undefined && meta.generateName !== '')
    out.push(
      ...generateNameProblems(served.nameRule, meta.generateName).map((p) =>
        invalid('metadata.generateName', meta.generateName, p),
      ),
    )
  if (meta.name === undefined || meta.name === '') out.push(nameRequired('metadata.name'))
  else out.push(...nameProblems(served.nameRule, meta.name).map((p) => invalid('metadata.name', meta.name, p)))
  return [...out, ...sharedProblems(served, meta)]
}

/** Unchanged maps are valid: they were checked when stored, and most changes leave them alone. */
function sharedProblems(served: Served, meta: ObjectMeta, before: Partial<ObjectMeta> = {}): readonly FieldError[] {
  const out: FieldError[] = []
  if (meta.labels !== undefined && !jsonEqual(meta.labels, before.labels))
    out.push(...labelProblems(meta.labels, 'metadata.labels'))
  if (meta.annotations !== undefined && !jsonEqual(meta.annotations, before.annotations))
    out.push(...annotationProblems(meta.annotations))
  if (meta.ownerReferences !== undefined) out.push(...ownerProblems(meta.ownerReferences))
  if (meta.finalizers !== undefined) out.push(...finalizerProblems(meta.finalizers, hasCoreRules(served)))
  return out
}

function annotationProblems(annotations: { readonly [key: string]: string }): readonly FieldError[] {
  const out: FieldError[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    out.push(...qualifiedNameProblems(key.toLowerCase()).map((p) => invalid('metadata.annotations', key, p)))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (bytes > MAX_ANNOTATION_BYTES) out.push(tooLong('metadata.annotations', MAX_ANNOTATION_BYTES))
  return out
}

function ownerProblems(owners: readonly OwnerReference[]): readonly FieldError[] {
  const field = 'metadata.ownerReferences'
  const out: FieldError[] = []
  for (const o of owners) {
    const parts = o.apiVersion.split('/')
    const [group, version] = parts.length > 2 ? ['', ''] : parts.length === 2 ? parts : ['', o.apiVersion]
    if (version === '' || version === undefined)
      out.push(invalid(`${field}.apiVersion`, o.apiVersion, 'version must not be empty'))
    if (o.kind === '') out.push(invalid(`${field}.kind`, o.kind, 'must not be empty'))
    if (o.name === '') out.push(invalid(`${field}.name`, o.name, 'must not be empty'))
    if (o.uid === '') out.push(invalid(`${field}.uid`, o.uid, 'must not be empty'))
    if (group === '' && version === 'v1' && o.kind === 'Event')
      out.push(invalid(field, new StructValue(o), '/v1, Kind=Event is disallowed from being an owner'))
  }
  const controllers = owners.filter((o) => o.controller === true)
  const [first] = controllers
  for (const other of controllers.slice(1))
    out.push(
      invalid(
        field,
        new StructValue(owners),
        `Only one reference can have Controller set to true. Found "true" in references for ${first?.kind}/${first?.name} and ${other.kind}/${other.name}`,
      ),
    )
  return out
}

/** Custom resources and their definitions are held to the rules of all objects, without those of the built-in kinds. */
const hasCoreRules = ({ custom, type }: Served): boolean => !custom && type.group !== 'apiextensions.k8s.io'

function finalizerProblems(finalizers: readonly string[], coreRules: boolean): readonly FieldError[] {
  const field = 'metadata.finalizers'
  const out = finalizers.flatMap((f) => qualifiedNameProblems(f).map((p) => invalid(field, f, p)))
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    out.push(invalid(field, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'))
  if (coreRules)
    for (const [i, f] of finalizers.entries())
      if (!f.includes('/') && !STANDARD_FINALIZERS.has(f))
        out.push(invalid(`${field}[${i}]`, f, 'name is neither a standard finalizer name nor is it fully qualified'))
  return out
}

/** Validates changes of metadata. The real server lists these problems twice among the causes. */
export function metadataUpdateProblems(served: Served, object: KubeObject, old: KubeObject): readonly FieldError[] {
  const meta = object.metadata
  const before = old.metadata
  const out: FieldError[] = []
  const fixed = [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const
  for (const f of fixed) if (meta[f] !== before[f]) out.push(immutable(`metadata.${f}`, meta[f]))
  if (before.deletionTimestamp !== undefined) {
    const had = new Set(before.finalizers)
    const added = (meta.finalizers ?? []).filter((f) => !had.has(f))
    if (added.length > 0)
      out.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${[
            ...new Set(added),
          ]
            .sort()
            .map((f) => JSON.stringify(f))
            .join(', ')}}`,
        ),
      )
  }
  return [...out, ...sharedProblems(served, meta, before)]
}
