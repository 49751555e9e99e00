// Makes one visit: with the login that the Machine names and its Secret allows. Decides nothing.
import type { Machine } from '#api/kinds/machine.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { secretType } from '#nodes/objects.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { keyOfSecret } from '#ssh/login/key-of-secret.ts'
import { acceptedKey, targetOf, trustsGiven } from '#ssh/login/target-of.ts'
import type { SshNodesConfig, VisitResult } from '../module.ts'
import type { Seen } from './seen.ts'

export interface VisitTools extends SshNodesConfig {
  readonly client: KubeClient
  /** The Machine as it is now; undefined: it is no longer visited. */
  readonly current: (name: string) => Machine | undefined
}

export async function act(tools: VisitTools, seen: Seen, signal: AbortSignal): Promise<ActionOutcome<VisitResult>> {
  return { kind: 'Applied', object: await visited(tools, seen, signal) }
}

async function visited(
  { client, visit, current }: VisitTools,
  { machine, ssh }: Seen,
  signal: AbortSignal,
): Promise<VisitResult> {
  const accepted = acceptedKey(ssh, machine.status?.join)
  if (trustsGiven(ssh) !== 1 || (ssh.firstUse === true && accepted === undefined))
    return {
      kind: 'Failed',
      failure: 'HostKeyUnknown',
      why: 'channel SSH needs hostKey or hostCA: a host that is worked on for good is never trusted on first use',
    }
  const secret = await client.get(secretType, { namespace: SYSTEM_NAMESPACE, name: ssh.secretRef.name }, { signal })
  const key = keyOfSecret(secret, machine, ssh)
  if (key.kind === 'Refused') return { kind: 'Failed', failure: 'AuthRefused', why: key.why }
  const login = { target: targetOf(ssh, accepted), identity: key.identity, sudo: ssh.user !== 'root' }
  const name = machine.metadata.name ?? ''
  return visit(login, machine, () => current(name), signal)
}
