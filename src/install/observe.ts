// Reads what a cluster already has of KubeNode: definitions, the installer's Inventory, and the version of its programs.
import { inventory, type Inventory } from '#api/kinds/inventory.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { observeLeft } from '#delivery/observe-left.ts'
import { undeclaredIn } from '#delivery/release-plan.ts'
import { ifServed, type InstallContext } from './context.ts'
import { ofOurGroup } from './definitions.ts'
import { installErrors } from './install-errors.ts'
import { INSTALL_INVENTORY } from './inventory.ts'
import { definitionsToApply, type InstalledParts, type InstallSeen } from './plan.ts'
import { isLabelledOurs, OURS, PART_OF, type Release, VERSION_LABEL } from './release.ts'
import { isOlder } from './versions.ts'

export const definitionType = coreKind('CustomResourceDefinition')
export const deploymentType: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
export const BY_LABEL = `${PART_OF}=${OURS}`

export interface Installed extends InstalledParts {
  readonly inventoryObject: Inventory | undefined
  /** Deployments of KubeNode's programs. */
  readonly workloads: readonly KubeObject[]
}

/** Includes objects that the release no longer has. A failed read is an error, because nothing can be decided without it. */
export async function observeUpgrade(context: InstallContext, release: Release): Promise<Installed & InstallSeen> {
  const seen = await observeInstalled(context)
  const objects = [...definitionsToApply(seen.definitions, release), ...release.objects]
  const left = undeclaredIn(seen.inventory, objects)
  return { ...seen, live: await observeLeft(context, INSTALL_INVENTORY, left, isLabelledOurs) }
}

/** A failed read is an error, because nothing can be decided without it. */
export async function observeInstalled({ client, signal }: InstallContext): Promise<Installed> {
  const call = signal === undefined ? {} : { signal }
  const read = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (cause) {
      throw new KubeNodeError(installErrors.KN1429({ what, why: messageOf(cause) }), { cause })
    }
  }
  const [definitions, inventoryObject, workloads] = await Promise.all([
    read('customresourcedefinitions', () => listAll(client, definitionType, call)),
    read(`inventory/${INSTALL_INVENTORY}`, () =>
      ifServed(() => client.get(inventory, { name: INSTALL_INVENTORY }, call)),
    ),
    read(`deployments of namespace ${SYSTEM_NAMESPACE}`, () =>
      listAll(client, deploymentType, { ...call, namespace: SYSTEM_NAMESPACE, labelSelector: BY_LABEL }),
    ),
  ])
  const versions = workloads.flatMap((w) => w.metadata.labels?.[VERSION_LABEL] ?? [])
  return {
    definitions: ofOurGroup(definitions),
    inventory: inventoryObject?.spec.refs ?? [],
    inventoryObject,
    workloads,
    installed: versions.toSorted((a, b) => (isOlder(a, b) ? 1 : isOlder(b, a) ? -1 : 0))[0],
  }
}
