// Makes the member of an attack a hub: with what deploy/hub has beside deploy/install.
import { join } from 'node:path'
import { manifestsOf } from '#delivery/release-manifests.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { AttackWorld } from './attack-world.ts'

const DEPLOY = join(import.meta.dirname, '../../../deploy')
const prepared = new WeakMap<AttackWorld, Promise<void>>()

/** The hub has what a member has not; its namespace first. */
export function asHub(world: AttackWorld): Promise<void> {
  const known = prepared.get(world) ?? makeHub(world)
  prepared.set(world, known)
  return known
}

/** Where a server has an object, or the objects of a kind of a namespace. */
export function pathOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject, isWhole = true): string {
  const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const plural = kind === 'NetworkPolicy' ? 'networkpolicies' : `${kind.toLowerCase()}s`
  const place = namespace === undefined ? base : `${base}/namespaces/${namespace}`
  return isWhole ? `${place}/${plural}/${encodeURIComponent(name ?? '')}` : `${place}/${plural}`
}

async function makeHub({ admin }: AttackWorld): Promise<void> {
  const objects = manifestsOf(DEPLOY).hub.toSorted(
    (a, b) => Number(b.kind === 'Namespace') - Number(a.kind === 'Namespace'),
  )
  for (const object of objects) {
    const { status, text } = await admin.raw({
      method: 'PATCH',
      path: `${pathOf(object)}?fieldManager=installer&force=true`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: object,
    })
    if (status >= 300) throw new Error(`${object.kind} ${object.metadata.name ?? ''} was not applied: ${text}`)
  }
}
