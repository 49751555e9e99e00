// Which content of an object controllers may act on: what git declares, even while the object is edited, unless a hold allows the edit. Objects that git
// never declared are used as they are; one whose Inventory was deleted keeps using the content that sync last recorded on it. While a cache is stale,
// nothing acts and nothing is reported. Content counts, not its writer: an edit that is reverted by hand counts as reverted at once.
import { type Inventory, inventory } from '#api/kinds/inventory.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type CommittedContent, contentOf, editDigest, isRolloutKind, readKept } from '#api/protocol/committed.ts'
import { isObject } from '#lib/json.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import type { Informers, SharedInformer } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { kindAndName } from '#api/schema/object-meta.ts'

export interface Edit {
  readonly kind: string
  readonly name: string
  /** Digest of the live content. */
  readonly digest: string
  /** Digest of the declared content. */
  readonly committed: string
  /** A hold allows the edit to take effect. */
  readonly allowed?: { readonly hold: string; readonly until: string }
}

export interface View<T> {
  /** The content to act on: unchanged, or with the declared spec instead of the edited one. */
  readonly object: T
  readonly edit?: Edit
  /** The declared content is unknown, so nothing is started. Without an edit the cache is stale, which ends within seconds. */
  readonly isHeld: boolean
}

/** Replaces a digest: the object may stay deleted. */
export const DELETED = 'deleted'

/** The hold that allows exactly this content of this object. */
export const allowing = (
  holds: readonly OperationalHold[],
  { kind, metadata }: KubeObject,
  content: CommittedContent,
  now: number,
): OperationalHold | undefined =>
  holds.find(
    (hold) =>
      hold.spec.effect === 'AllowEdit' &&
      hold.spec.target.kind === kind &&
      hold.spec.target.name === metadata.name &&
      hold.spec.to === editDigest(content) &&
      isInForce(hold, now),
  )

/** Replicas set through the scale subresource, as by autoscalers and `kubectl scale`, do not count as an edit. */
const isScaled = ({ metadata }: KubeObject): boolean =>
  (metadata.managedFields ?? []).some(({ subresource, fieldsV1 }) => {
    const spec = subresource === 'scale' ? fieldsV1?.['f:spec'] : undefined
    return isObject(spec) && 'f:replicas' in spec
  })

const isContent = (committed: CommittedContent, found: CommittedContent, hasScaled: boolean): boolean =>
  committed.digest === found.digest &&
  (committed.replicas === undefined || committed.replicas === found.replicas || hasScaled)

/** `committed` undefined: no Inventory lists the object, or the Inventory does not record its content. Pure. */
export function viewOf<T extends KubeObject>(
  object: T,
  committed: readonly CommittedContent[] | undefined,
  holds: readonly OperationalHold[],
  now: number,
): View<T> {
  const [declared] = committed ?? []
  const found = declared === undefined ? undefined : contentOf(object)
  if (committed === undefined || declared === undefined || found === undefined) return { object, isHeld: false }
  const hasScaled = isScaled(object)
  if (committed.some((c) => isContent(c, found, hasScaled))) return { object, isHeld: false }
  const edit = {
    kind: object.kind,
    name: object.metadata.name ?? '',
    digest: editDigest(found),
    committed: editDigest(declared),
  }
  const hold = allowing(holds, object, found, now)
  if (hold !== undefined) {
    const allowed = { hold: hold.metadata.name ?? '', until: hold.spec.until }
    return { object, edit: { ...edit, allowed }, isHeld: false }
  }
  const kept = readKept(object)
  const isKnown = kept !== undefined && committed.some((c) => isContent(c, kept.content, false))
  if (isKnown) {
    const replicas = kept.content.replicas === undefined || hasScaled ? found.replicas : kept.content.replicas
    const spec = replicas === undefined ? kept.spec : { ...kept.spec, replicas }
    return { object: { ...object, spec }, edit, isHeld: false }
  }
  // Written by sync, but newer or older than the cached Inventory.
  const isOfSync = kept !== undefined && isContent(kept.content, found, hasScaled)
  return isOfSync ? { object, isHeld: true } : { object, edit, isHeld: true }
}

/** A stale cache catches up within seconds. Content still unrecorded after this time is an edit, whatever its annotations claim. */
const BEHIND_MS = 10_000
/** Requeue delay while a cache is stale. */
export const BEHIND_REQUEUE_MS = 1_000
/** Number of objects that are waited for at the same time; above it, the waits restart. */
const MOST_BEHIND = 1_000

interface Known {
  readonly committed: readonly CommittedContent[] | undefined
  readonly view: View<KubeObject>
  readonly holds: readonly OperationalHold[]
  /** The view is valid until this time. */
  readonly until: number
}

export interface ContentCaches {
  readonly inventories: SharedInformer<Inventory>
  readonly holds: SharedInformer<OperationalHold>
}

/** What git declares for an object. Deleting Inventories must not release every edit: if none lists the object, sync's record on it still counts. Pure. */
export function committedOf(
  object: KubeObject,
  listed: ReadonlyMap<string, readonly CommittedContent[] | undefined>,
): readonly CommittedContent[] | undefined {
  if (listed.has(kindAndName(object))) return listed.get(kindAndName(object))
  const kept = readKept(object)
  return kept === undefined ? undefined : [kept.content]
}

/** The views of one process, cached by object: a caller with a thousand machines reads the same few sets every time. */
export class CommittedContents {
  readonly #inventories: SharedInformer<Inventory>
  readonly #holds: SharedInformer<OperationalHold>
  readonly #known = new WeakMap<KubeObject, Known>()
  /** Records on objects that no Inventory lists. Cached objects never change, so each is read once. */
  readonly #unlisted = new WeakMap<KubeObject, Pick<Known, 'committed'>>()
  /** When content was first found that is in no Inventory, by uid and generation. */
  readonly #behindSince = new Map<string, number>()
  #listed: ReadonlyMap<string, readonly CommittedContent[] | undefined> | undefined
  #allowing: readonly OperationalHold[] | undefined

  constructor({ inventories, holds }: ContentCaches) {
    this.#inventories = inventories
    this.#holds = holds
    this.#inventories.onChange(() => void (this.#listed = undefined))
    this.#holds.onChange(() => void (this.#allowing = undefined))
  }

  static of(informers: Informers): CommittedContents {
    return new CommittedContents({ inventories: informers.of(inventory), holds: informers.of(operationalHold) })
  }

  /** For `requireFresh`: without knowing what git owns, decide nothing. */
  get caches(): readonly SharedInformer[] {
    return [this.#inventories, this.#holds]
  }

  /** Calls back when the declared or allowed content may have changed. */
  onChange(changed: () => void): void {
    this.#inventories.onChange(changed)
    this.#holds.onChange(changed)
  }

  view<T extends KubeObject>(object: T, now: number): View<T> {
    if (!isRolloutKind(object.kind)) return { object, isHeld: false }
    const committed = this.#committed(object)
    if (committed === undefined) return { object, isHeld: false }
    const holds = this.#allowingHolds()
    const known = this.#known.get(object)
    if (known !== undefined && known.committed === committed && known.holds === holds && now < known.until)
      return known.view as View<T>
    const view = this.#patient(viewOf(object, committed, holds, now), object, now)
    const end = view.edit?.allowed === undefined ? Infinity : Date.parse(view.edit.allowed.until)
    const until = view.isHeld && view.edit === undefined ? now : end
    this.#known.set(object, { committed, view, holds, until })
    return view
  }

  /** Objects of a kind with the content to act on; returns the same list when nothing differs. */
  all<T extends KubeObject>(objects: readonly T[], now: number): readonly T[] {
    const seen = objects.map((o) => this.view(o, now).object)
    return seen.every((o, i) => o === objects[i]) ? objects : seen
  }

  /** Objects that git declares, by kind, with their declarations. Includes deleted objects. */
  declared(kind: string): ReadonlyMap<string, readonly CommittedContent[]> {
    const prefix = `${kind}/`
    return new Map(
      [...this.#index()].flatMap(([key, committed]) =>
        key.startsWith(prefix) && committed !== undefined ? [[key.slice(prefix.length), committed] as const] : [],
      ),
    )
  }

  /** Whether git declares it and no hold allows it to stay deleted. */
  isDeclared(kind: string, name: string, now: number): boolean {
    return this.#index().get(`${kind}/${name}`) !== undefined && !this.isDeletionAllowed(kind, name, now)
  }

  /** A hold allows an object that git declares to stay deleted for now. */
  isDeletionAllowed(kind: string, name: string, now: number): boolean {
    return this.#allowingHolds().some(
      (hold) =>
        hold.spec.target.kind === kind &&
        hold.spec.target.name === name &&
        hold.spec.to === DELETED &&
        isInForce(hold, now),
    )
  }

  #committed(object: KubeObject): readonly CommittedContent[] | undefined {
    const index = this.#index()
    if (index.has(kindAndName(object))) return index.get(kindAndName(object))
    const known = this.#unlisted.get(object)
    if (known !== undefined) return known.committed
    const committed = committedOf(object, index)
    this.#unlisted.set(object, { committed })
    return committed
  }

  #index(): ReadonlyMap<string, readonly CommittedContent[] | undefined> {
    this.#listed ??= committedIn(this.#inventories.list())
    return this.#listed
  }

  #allowingHolds(): readonly OperationalHold[] {
    this.#allowing ??= this.#holds
      .list()
      .map(readable)
      .filter((h) => h.spec.effect === 'AllowEdit')
    return this.#allowing
  }

  #patient<T extends KubeObject>(view: View<T>, object: T, now: number): View<T> {
    if (!view.isHeld || view.edit !== undefined) return view
    const { uid = '', generation = 0 } = object.metadata
    const key = `${uid}/${generation}`
    const since = this.#behindSince.get(key) ?? now
    if (this.#behindSince.size >= MOST_BEHIND) this.#behindSince.clear()
    this.#behindSince.set(key, Math.min(since, now))
    if (now - since < BEHIND_MS) return view
    const found = contentOf(object)
    const declared = this.#committed(object)?.[0]
    if (found === undefined || declared === undefined) return view
    const { kind, metadata } = object
    const edit = { kind, name: metadata.name ?? '', digest: editDigest(found), committed: editDigest(declared) }
    return { ...view, edit }
  }
}

/** While an object moves from one track to another, either track's content counts. If one track records no content, any content counts. Pure. */
export function committedIn(
  inventories: readonly Inventory[],
): ReadonlyMap<string, readonly CommittedContent[] | undefined> {
  const out = new Map<string, readonly CommittedContent[] | undefined>()
  for (const { spec } of inventories)
    for (const { group, kind, name, committed } of spec.refs) {
      if (group !== 'kubenode.io' || !isRolloutKind(kind)) continue
      const key = `${kind}/${name}`
      const before = out.get(key)
      const isFirst = !out.has(key)
      const both = before === undefined || committed === undefined ? undefined : [...before, ...committed]
      out.set(key, isFirst ? committed : both)
    }
  return out
}
