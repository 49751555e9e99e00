// Records that an agent left its host: its key stays on record, and it gets no tokens any more.
import type { Machine } from '#api/kinds/machine.ts'
import { recordOfLeft } from '#identity/agent-key.ts'
import type { KubeClient } from '#kube/client.ts'
import { writeKeyRecord } from '../certificates/key-record.ts'

/** An agent that joined meanwhile keeps its record. */
export async function recordLeft(client: KubeClient, machine: Machine, signal: AbortSignal): Promise<void> {
  const written = await writeKeyRecord(client, machine, recordOfLeft(machine), signal)
  if (written.kind !== 'Applied' && written.kind !== 'Stale') throw written.error
}
