// The list of abandoned hosts: their agents did not answer at the hand-back, so parts of KubeNode may still be there. Bounded.
import type { Machine } from '#api/kinds/machine.ts'
import { ABANDONED_HOSTS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf, type WriteOutcome } from '#kube/outcome.ts'
import { configMapType, type ConfigMap } from '../secrets/config-map.ts'

/** Names and addresses: far below the limit of an object. */
const MOST = 500
const fieldManager = FIELD_MANAGERS.machine
const key = { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS }

export async function recordAbandoned(
  client: KubeClient,
  { metadata, spec, status }: Machine,
  now: number,
  signal: AbortSignal,
): Promise<WriteOutcome<unknown>> {
  const { name = '', uid } = metadata
  const entry = {
    uid,
    since: timestamp(now),
    node: status?.nodeRef?.name,
    provider: spec.provider?.name,
    providerID: spec.providerID ?? status?.provisioning?.providerID,
    address: spec.address,
    folder: status?.agent?.folder,
  }
  const read = await outcomeOf(() => client.get<ConfigMap>(configMapType, key, { signal }))
  if (read.kind !== 'Applied') return read
  const text = JSON.stringify(entry)
  if (read.object === undefined) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: key, data: { [name]: text } }
    return outcomeOf(() => client.create(configMapType, object, { fieldManager, signal }))
  }
  const value = { data: { ...dropped(read.object.data ?? {}), [name]: text } }
  return outcomeOf(() => client.patch(configMapType, key, { type: 'merge', value }, { fieldManager, signal }))
}

/** Oldest entries beyond the limit, as a merge patch that removes them. */
function dropped(data: Readonly<Record<string, string>>): Readonly<Record<string, null>> {
  const since = (text: string): string => /"since":"([^"]*)"/.exec(text)?.[1] ?? ''
  const oldest = Object.entries(data)
    .toSorted(([, a], [, b]) => (since(a) < since(b) ? -1 : 1))
    .slice(0, Math.max(0, Object.keys(data).length - MOST + 1))
  return Object.fromEntries(oldest.map(([name]) => [name, null]))
}
