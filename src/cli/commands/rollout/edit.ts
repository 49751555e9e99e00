// Edits of objects that git declares: found by comparing the object with the Inventory, reverted to the content sync left on the object, or allowed by a hold.
import { listAll } from '#kube/list-all.ts'
import { inventory } from '#api/kinds/inventory.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isRolloutKind } from '#api/protocol/committed.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isConflict, isForbidden } from '#kube/errors.ts'
import { type Edit, type View, committedIn, committedOf, viewOf } from '#declared/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { editsErrors } from './edits-errors.ts'
import { newHold, type HoldTarget, type HoldTexts } from '#permits/holds/new-hold.ts'
import { findObject } from '#explain/objects/find-object.ts'
import { type Named, named } from '../../fleet/target.ts'

interface Found {
  readonly type: ResourceType
  readonly live: KubeObject
  readonly view: View<KubeObject>
}

export interface FoundEdit extends Found {
  readonly edit: Edit
}

/** Parses an object that can be compared with git, by the words of `kubenode get`. */
export function editable(what: string): Named {
  const target = named([what])
  if (!isRolloutKind(target.type.kind)) throw new KubeNodeError(editsErrors.KN1325_edit({ what }))
  return target
}

/** The object and its edit; undefined if it is in sync with git. */
export async function findEdit(client: KubeClient, what: string, now: number): Promise<FoundEdit | undefined> {
  const { type, name, noun } = editable(what)
  const live = await findObject(client, type, name, noun)
  const items = await listAll(client, inventory)
  const committed = committedOf({ ...live, kind: type.kind }, committedIn(items))
  if (committed === undefined) throw new KubeNodeError(editsErrors.KN1374_notCorrected({ what }))
  const view = viewOf(live, committed, [], now)
  return view.edit === undefined ? undefined : { type, live, view, edit: view.edit }
}

export interface PutBack extends Edit {
  /** Holds that kept the edit in effect: deleted, or still in force because the caller may not delete them. */
  readonly ended: readonly string[]
  readonly remaining: readonly string[]
}

/** Controllers write an object's status at any time. That causes conflicts even if no user edited the object again. */
const PUT_BACK_TRIES = 8

/** Reverts only the edit found first: a later one is a newer user decision. */
async function overwriteEdit(client: KubeClient, what: string, now: number): Promise<FoundEdit | undefined> {
  let first: Edit | undefined
  for (let tries = 1; ; tries++) {
    const found = await findEdit(client, what, now)
    if (found === undefined) return undefined
    const { type, live, view, edit } = found
    if (view.isHeld) throw new KubeNodeError(editsErrors.KN1393({ what }))
    first ??= edit
    if (edit.digest !== first.digest) throw new KubeNodeError(editsErrors.KN1395_restore({ what }))
    const { managedFields: _, ...metadata } = live.metadata
    const object = { ...live, metadata, spec: view.object['spec'] }
    try {
      await client.update(type, object, { fieldManager: FIELD_MANAGERS.cli })
      return found
    } catch (error) {
      if (!isConflict(error) || tries === PUT_BACK_TRIES) throw error
    }
  }
}

/** Also ends the hold that allows the edit: the next edit needs a new one. Undefined: already in sync with git. */
export async function putBack(client: KubeClient, what: string, now: number): Promise<PutBack | undefined> {
  const found = await overwriteEdit(client, what, now)
  if (found === undefined) return undefined
  const { type, edit } = found
  const items = await listAll(client, operationalHold)
  const allowing = items.filter(
    ({ spec }) => spec.effect === 'AllowEdit' && spec.target.kind === type.kind && spec.target.name === edit.name,
  )
  const ended: string[] = []
  const remaining: string[] = []
  for (const { metadata: hold } of allowing) {
    const preconditions = hold.uid === undefined ? {} : { preconditions: { uid: hold.uid } }
    try {
      await client.delete(operationalHold, { name: hold.name ?? '' }, preconditions)
      ended.push(hold.name ?? '')
    } catch (error) {
      if (!isForbidden(error)) throw error
      remaining.push(hold.name ?? '')
    }
  }
  return { ...edit, ended, remaining }
}

export interface AllowRequest extends HoldTexts {
  readonly what: string
  readonly digest: string
}

/** Long enough for a weekend; a longer change belongs in a commit. */
const LONGEST_MS = 7 * 86_400_000

export function allowHold(request: AllowRequest, now: number): OperationalHold {
  const { type, name } = editable(request.what)
  return newHold(
    {
      name: `allowedit-${type.kind.toLowerCase()}-${name}`,
      target: { kind: type.kind as HoldTarget['kind'], name },
      effect: 'AllowEdit',
      to: request.digest,
      longestMs: LONGEST_MS,
      refuse: editsErrors.KN1002_edit,
    },
    request,
    now,
  )
}

/** Refuses a digest other than the current edit's: the object may have been edited again. */
export async function checkDigest(client: KubeClient, { what, digest }: AllowRequest, now: number): Promise<void> {
  const found = await findEdit(client, what, now)
  if (found === undefined) throw new KubeNodeError(editsErrors.KN1374_inSync({ what }))
  const { edit } = found
  if (edit.digest !== digest) throw new KubeNodeError(editsErrors.KN1395({ what, digest, found: edit.digest }))
}
