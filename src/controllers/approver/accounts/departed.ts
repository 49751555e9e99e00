// Records that an agent left its host. Its key stays on record, but it gets no further tokens.
import type { Machine } from '#api/kinds/machine.ts'
import { recordOfLeft } from '#identity/agent-key.ts'
import type { KubeClient } from '#kube/client.ts'
import { writeKeyRecord } from '../certificates/key-record.ts'

/** If another agent joined in the meantime, its record stays. */
export async function recordLeft(client: KubeClient, machine: Machine, signal: AbortSignal): Promise<void> {
  const written = await writeKeyRecord(client, machine, recordOfLeft(machine), signal)
  if (written.kind !== 'Applied' && written.kind !== 'Stale') throw written.error
}
