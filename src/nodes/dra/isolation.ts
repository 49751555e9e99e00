// Keeps new pods away from single devices: one DeviceTaintRule for each device and incident. Pods that use a device stay; a drain moves them.
import { API_GROUP } from '#api/kind.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { defined } from '#lib/defined.ts'
import type { KubeClient } from '#kube/client.ts'
import { isAlreadyExists } from '#kube/errors.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { servedKind, type SlicedDevice } from './devices-on.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** Since 1.37, 1.36 and 1.33. Until 1.36, servers have them only if their settings ask for it. */
const RULE_VERSIONS = ['v1', 'v1beta2', 'v1alpha3'] as const
const ISOLATED_FOR = `${API_GROUP}/incident`
const TAINT = `${API_GROUP}/faulty`
/** Far more than an incident has. */
const MOST_RULES = 64

/** Undefined: the API server has no such rules. */
export const deviceTaintRules = (client: Pick<KubeClient, 'raw'>, signal?: AbortSignal) =>
  servedKind(client, 'devicetaintrules', RULE_VERSIONS, signal)

/** `value`: the condition that names the device. Pure. */
export function taintRule(
  { group, version, kind }: Pick<ResourceType, 'group' | 'version' | 'kind'>,
  { driver, pool, device }: Omit<SlicedDevice, 'bus'>,
  { incident, value }: { readonly incident: string; readonly value: string },
): KubeObject {
  const digest = sha256Hex(JSON.stringify([incident, driver, pool, device]))
  return {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: `kubenode-${digest.slice(0, 24)}`, labels: { [ISOLATED_FOR]: incident } },
    spec: { deviceSelector: { driver, pool, device }, taint: { key: TAINT, value, effect: 'NoSchedule' } },
  }
}

export async function isolate(
  _clearance: Clearance,
  client: KubeClient,
  kind: ResourceType,
  rule: KubeObject,
  options: { readonly fieldManager: string; readonly signal: AbortSignal },
): Promise<void> {
  await client.create(kind, rule, options).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  })
}

/** Removes every rule of the incident. */
export async function endIsolation(client: KubeClient, incident: string, signal?: AbortSignal): Promise<void> {
  const kind = await deviceTaintRules(client, signal)
  if (kind === undefined) return
  const labelSelector = `${ISOLATED_FOR}=${incident}`
  const { items } = await client.list(kind, { labelSelector, limit: MOST_RULES, ...defined({ signal }) })
  for (const { metadata } of items) {
    const { name = '', uid } = metadata
    await client.delete(kind, { name }, { preconditions: defined({ uid }), ...defined({ signal }) })
  }
}
