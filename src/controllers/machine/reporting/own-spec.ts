// Writes the machine controller's fields of a Machine's spec.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { KubeObject } from '#api/schema/object.ts'

const fieldManager = FIELD_MANAGERS.machine

type OwnSpec = { readonly [K in 'providerID' | 'address' | 'components' | 'leaving']?: Machine['spec'][K] | undefined }

/**
 * All fields of the spec that this controller owns, as a whole: omitted fields are removed. The write names the version behind the decision, so a
 * stale decision is refused.
 */
export function applySpec(
  client: KubeClient,
  { metadata }: Machine,
  { providerID, address, components, leaving }: OwnSpec,
  signal: AbortSignal,
): Promise<WriteOutcome<Machine>> {
  const { name, uid, resourceVersion } = metadata
  const object: KubeObject = {
    apiVersion: API_GROUP_VERSION,
    kind: machineType.kind,
    metadata: { ...(name && { name }), ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    spec: {
      ...defined({ providerID, address }),
      ...(components !== undefined && components.length > 0 && { components }),
      ...(leaving === true && { leaving }),
    },
  }
  return outcomeOf(() => client.apply<Machine>(machineType, object, { fieldManager, force: true, signal }))
}

/**
 * An apply removes only entries without another owner, so entries that a user wrote at the Machine's creation would stay forever. The server does not
 * show who owns a list entry. So a second write replaces those of other owners.
 */
export async function writeSpec(
  client: KubeClient,
  machine: Machine,
  spec: OwnSpec,
  signal: AbortSignal,
): Promise<WriteOutcome<Machine>> {
  const written = await applySpec(client, machine, spec, signal)
  if (written.kind !== 'Applied') return written
  const { object } = written
  const { components = [] } = spec
  if (jsonEqual(object.spec.components ?? [], components)) return written
  return updateExactly(
    client,
    machineType,
    { ...object, spec: { ...object.spec, components } },
    { fieldManager, signal },
  )
}
