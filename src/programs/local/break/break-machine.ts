// Provokes a fault inside one systemd machine of the local fleet, or undoes it. Enters only the namespaces of the machine that its folder names.
import { readlinkSync } from 'node:fs'
import { KubeNodeError } from '#lib/errors.ts'
import { machineLayout, type MachineLayout } from '#providers/nspawn/layout.ts'
import { bootIdOf, findSupervisor, leaderOf, runIn } from '#providers/nspawn/machine.ts'
import type { ProcessId } from '#providers/process/proc.ts'
import { readRecord } from '#providers/process/record.ts'
import { localErrors } from '../local-errors.ts'
import type { Fault } from './faults.ts'
import { MACHINE_SCRIPTS, machineScript } from './machine-faults.ts'

/** Machines of `folder`, by name. */
export async function breakMachine(
  fault: Fault,
  { folder, name }: { readonly folder: string; readonly name: string },
  isUndo: boolean,
): Promise<string> {
  const leader = await leaderIn(machineLayout(folder, name), name)
  // With the network of the host, the script would act on the host.
  if (fault === 'network' && !hasOwnNetwork(leader))
    throw new KubeNodeError(localErrors.KN1234({ fault, why: `${name} shares the network of this host` }))
  const { provoke, undo, done, undone } = MACHINE_SCRIPTS[fault]
  await runIn(leader, machineScript(isUndo ? undo : provoke))
  return isUndo ? undone : done
}

/** Its first process, once it has a kernel log, mounts and a boot of its own. */
async function leaderIn(at: MachineLayout, name: string): Promise<ProcessId> {
  const record = await readRecord(at)
  const supervisor = record && (await findSupervisor(at, record.agent))
  const leader = supervisor && (await leaderOf(supervisor))
  if (leader === undefined || (await bootIdOf(leader)) === undefined)
    throw new KubeNodeError(localErrors.KN1234_ended({ what: `machine ${name}` }))
  return leader
}

const networkOf = (pid: number | 'self'): string => readlinkSync(`/proc/${pid}/ns/net`)
const hasOwnNetwork = ({ pid }: ProcessId): boolean => networkOf(pid) !== networkOf('self')
