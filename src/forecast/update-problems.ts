// What API servers would refuse about a change, and what a change ends: problems that an object alone does not show. Pure.
import { API_GROUP } from '#api/kind.ts'
import { kindNamed } from '#api/kinds.ts'
import { HUB_TARGET } from '#api/names.ts'
import type { Validator } from '#api/validate.ts'
import { declaredErrors } from '#declared/declared-errors.ts'
import type { Targets } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import { planesIn, type PlaneNow } from './plane-changes.ts'

export interface Update {
  readonly before: Targets
  readonly after: Targets
  /** Undefined without an inventory of the hub. */
  readonly planes: readonly PlaneNow[] | undefined
  /** The inventory is too old to refuse anything. */
  readonly isStale?: boolean
  readonly now: number
}

export const updateProblems = (update: Update, validator: Validator): readonly RenderedProblem[] => [
  ...fixedFields(update, validator),
  ...endedClusters(update),
  ...unservedVersions(update),
]

function fixedFields({ before, after }: Update, validator: Validator): readonly RenderedProblem[] {
  return [...after].flatMap(([cluster, { objects }]) => {
    const olds = new Map((before.get(cluster)?.objects ?? []).map((o) => [refText(o.ref), o]))
    return objects.flatMap(({ ref, object, digest, place }) => {
      const name = refText(ref)
      const old = olds.get(name)
      const kind = ref.group === API_GROUP ? kindNamed(ref.kind) : undefined
      if (old === undefined || kind === undefined || old.digest === digest) return []
      return validator.updateProblems(kind, old.object, object).map(({ code, pointer, message }): RenderedProblem => ({
        clusters: [cluster],
        object: name,
        pointer,
        code,
        message: `${message}: the API server refuses this change, and the object stays as it is`,
        isCertain: true,
        ...defined({ place }),
      }))
    })
  })
}

/** A time to live counts from the Cluster's creation, which no commit shows. */
function endedClusters({ before, after, planes, now }: Update): readonly RenderedProblem[] {
  const olds = planesIn(before.get(HUB_TARGET))
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, { metadata, spec }]) => {
    const old = olds.get(key)
    const ttlMs = durationMs(spec.ttl ?? '')
    if (old === undefined || spec.ttl === undefined || ttlMs === undefined || spec.ttl === old.spec.ttl) return []
    const { name = '', namespace = '' } = metadata
    const created = planes?.find((p) => p.name === name && p.namespace === namespace)?.createdAt
    const end = Date.parse(created ?? '') + ttlMs
    if (end > now) return []
    const when = Number.isNaN(end)
      ? `once it is older than ${spec.ttl}, and at once if it is now`
      : `as soon as this is merged: it was created at ${created ?? ''}, so its time ended at ${timestamp(end)}`
    const { code, text } = declaredErrors.KN3099({ name, ttl: spec.ttl, when })
    const object = `Cluster.${API_GROUP}/${namespace}/${name}`
    return [{ clusters: [HUB_TARGET], object, pointer: '/spec/ttl', code, message: text, isCertain: false }]
  })
}

/** No host of the hub has it: the release would fail in the first stage that gets it. */
function unservedVersions({ before, after, planes = [], isStale = false }: Update): readonly RenderedProblem[] {
  const olds = planesIn(before.get(HUB_TARGET))
  return [...planesIn(after.get(HUB_TARGET))].flatMap(([key, { metadata, spec }]) => {
    const { version = '', controlPlane } = spec
    if (olds.get(key)?.spec.version === version) return []
    const { name = '', namespace = '' } = metadata
    const flavor = controlPlane?.flavor ?? 'kubernetes'
    const isOwn = (p: PlaneNow): boolean => p.name === name && p.namespace === namespace && p.flavor === flavor
    const served = (planes.find(isOwn) ?? planes.find((p) => p.flavor === flavor))?.served
    if (served === undefined || served.some((minor) => version.startsWith(`${minor}.`))) return []
    const { code, text } = declaredErrors.KN3098_version({ name, version, served: served.join(', ') })
    const object = `Cluster.${API_GROUP}/${namespace}/${name}`
    return [{ clusters: [HUB_TARGET], object, pointer: '/spec/version', code, message: text, isCertain: !isStale }]
  })
}
