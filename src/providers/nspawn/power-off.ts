// Powers off all machines of a folder, for a program that stops everything it started. They boot again once the folder is served again.
import type { Clock } from '#lib/clock.ts'
import { MachineFolders } from '../machine-folders.ts'
import { readRecord, writeRecord } from '../process/record.ts'
import { NSPAWN_SCHEME, machineLayout } from './layout.ts'
import { cutPower, findSupervisor, removeGroups, unmountRoot } from './machine.ts'

export async function powerOffAll(dir: string, clock: Clock): Promise<void> {
  const folders = new MachineFolders({ scheme: NSPAWN_SCHEME, dir, layout: machineLayout })
  // A cluster without machines has no folder for them.
  const machines = await folders.names().catch(() => [])
  await Promise.all(machines.map((machine) => powerOff(dir, machine, clock)))
}

async function powerOff(dir: string, machine: string, clock: Clock): Promise<void> {
  const at = machineLayout(dir, machine)
  const record = await readRecord(at)
  // First: the next program to serve the folder boots it, whatever happens to this one.
  if (record?.state === 'Running') await writeRecord(at, { ...record, state: 'Rebooting' })
  await cutPower(at, await findSupervisor(at, record?.agent), clock, async () => undefined)
  await unmountRoot(at)
  await removeGroups(at)
}
