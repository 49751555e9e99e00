// Validates a cage's output, which was size-limited while it was read: every object has an identity, is named once, and is valid for its kind. Invalid
// objects are separated.
import { KINDS } from '#api/kinds.ts'
import { API_GROUP } from '#api/kind.ts'
import { RENDER_NAMESPACE } from '#api/names.ts'
import { formatProblem } from '#api/problem.ts'
import type { Validator } from '#api/validate.ts'
import { defined } from '#lib/defined.ts'
import { type ErrorMessage, KubeNodeError, numbered } from '#lib/errors.ts'
import { canonicalJson, isDeeperThan, isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { atOnce } from '#lib/slices.ts'
import { sha256Hex } from '#lib/sha256.ts'
import { identityProblem } from '#declared/identity.ts'
import { isNamespaceNeverDeclared } from '#declared/listings.ts'
import { ownershipProblem } from '#declared/ownership.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf, refText, type ObjectRef } from '#delivery/object-ref.ts'
import { type DesiredObject, type Rejected, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import { NO_PLACES, type Places } from './places.ts'
import { hasSealedValue, NO_SEALED_FILES, type SealedFiles, unsealing } from './sealed.ts'
import { syncErrors } from '../sync-errors.ts'

const MAX_DEPTH = 64
const MAX_TARGETS = 1_001
const TARGET = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** Four times the machines, sets and workloads of the largest cluster; all objects of a target are kept in memory, several times. */
const MAX_OBJECTS = 20_000
/** An API server accepts 1.5 MB; the rest is for fields that servers add. */
const MAX_OBJECT_CHARS = 1_400_000
/** Limit for one object, for a status and a plan. */
const MAX_PROBLEM_CHARS = 2_000

type Listed = readonly unknown[]

/** Checks the objects of all clusters at once. */
export const checkRendered = (
  clusters: Readonly<Record<string, Listed>>,
  ...given: [validator: Validator, places?: Places, sealed?: SealedFiles]
): Targets => atOnce(checkingRendered(new Map(Object.entries(clusters)), ...given))

/** Like `checkRendered`, object by object: some commits have a hundred thousand. */
export function* checkingRendered(
  clusters: ReadonlyMap<string, Listed>,
  validator: Validator,
  places: Places = NO_PLACES,
  sealed: SealedFiles = NO_SEALED_FILES,
): Generator<void, Targets> {
  if (clusters.size > MAX_TARGETS)
    throw unusable('the rendering', `has ${clusters.size} clusters (limit ${MAX_TARGETS})`)
  const targets = new Map<string, RenderedTarget>()
  const checks = { validator, places, unsealed: unsealing(sealed) }
  for (const [name, list] of [...clusters].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!TARGET.test(name))
      throw unusable(`the target ${printableLine(JSON.stringify(name.slice(0, 80)))}`, 'is not a valid cluster name')
    if (list.length > MAX_OBJECTS)
      throw unusable(`the target ${name}`, `has ${list.length} objects (limit ${MAX_OBJECTS})`)
    targets.set(name, yield* checkTarget(name, list, checks))
  }
  return targets
}

interface Checks {
  readonly validator: Validator
  readonly places: Places
  readonly unsealed: ReturnType<typeof unsealing>
}

function* checkTarget(target: string, list: Listed, checks: Checks): Generator<void, RenderedTarget> {
  const seen = new Map<string, string | undefined>()
  const objects: DesiredObject[] = []
  const rejected: Rejected[] = []
  for (const [i, value] of list.entries()) {
    yield
    const at = checks.places.madeAt(value)
    const what = `object ${i + 1} of ${target}`
    const found = checks.unsealed(value)
    if (found !== undefined && 'problem' in found) throw unusable(placedName(what, at), found.problem, at)
    const object = identified(found?.object ?? value, what, at)
    const ref = refOf(object)
    const key = refText(ref)
    if (seen.has(key))
      throw new KubeNodeError(syncErrors.KN7109({ key, target, where: both(seen.get(key), at) }), dataAt(at))
    seen.set(key, at)
    const text = canonicalJson(object)
    const problem =
      text.length > MAX_OBJECT_CHARS
        ? `has ${text.length} characters (limit ${MAX_OBJECT_CHARS}); no API server stores it`
        : found === undefined && hasSealedValue(text)
          ? numbered(syncErrors.KN7136())
          : problemOf(object, ref, checks)
    const place = { ...defined({ place: at }), ...(found !== undefined && { sealed: found.file }) }
    if (problem === undefined) objects.push({ ref, object, digest: sha256Hex(text), ...place })
    else rejected.push({ ref, problem: problem.slice(0, MAX_PROBLEM_CHARS), ...defined({ place: at }) })
  }
  return { objects, rejected }
}

const both = (first: string | undefined, second: string | undefined): string =>
  first === undefined || second === undefined ? '' : first === second ? `, at ${first}` : `, at ${first} and ${second}`

const placedName = (name: string, at: string | undefined): string => (at === undefined ? name : `${name} (${at})`)

function identified(value: unknown, name: string, at: string | undefined): KubeObject {
  const what = placedName(name, at)
  if (isDeeperThan(value, MAX_DEPTH)) throw unusable(what, `is nested deeper than ${MAX_DEPTH} levels`, at)
  const problem = isObject(value) ? identityProblem(value) : { message: 'is not an object' }
  if (problem !== undefined) throw unusable(what, problem.message, at)
  const object = value as KubeObject
  if (hasPrototypeKey(value))
    throw unusable(`${what}, ${object.kind} ${object.metadata.name ?? ''}`, 'has the key __proto__', at)
  return object
}

function hasPrototypeKey(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasPrototypeKey)
  if (!isObject(value)) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeKey)
}

const KIND_BY_NAME = new Map(KINDS.map((k) => [k.kind, k]))

function problemOf(object: KubeObject, ref: ObjectRef, { validator }: Checks): string | undefined {
  const refused = ownershipProblem(object)?.message ?? namespaceProblem(ref)
  if (refused !== undefined) return numbered(refused)
  if (ref.group !== API_GROUP) return undefined
  const kind = KIND_BY_NAME.get(object.kind)
  if (kind === undefined) return `${API_GROUP} has no kind ${object.kind}`
  if (kind.namespaced && ref.namespace === '') return 'metadata.namespace is missing'
  const problems = validator.problems(kind, object)
  return problems.length === 0 ? undefined : printableLine(problems.slice(0, 5).map(formatProblem).join('; '))
}

function namespaceProblem(ref: ObjectRef): ErrorMessage | undefined {
  if (ref.namespace === RENDER_NAMESPACE) return syncErrors.KN3090_renderNamespace({ object: refText(ref) })
  return ref.group === '' && ref.kind === 'Namespace' && isNamespaceNeverDeclared(ref.name)
    ? syncErrors.KN3090_namespace({ object: refText(ref) })
    : undefined
}

const unusable = (what: string, seen: string, at?: string): KubeNodeError =>
  new KubeNodeError(syncErrors.KN7107({ what, problem: seen }), dataAt(at))

const dataAt = (at: string | undefined) => ({ data: at === undefined ? {} : { at } })
