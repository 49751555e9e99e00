// Switches off all machines of a folder, for a program that ends with everything it started. They boot again once the folder is served again.
import { readdir } from 'node:fs/promises'
import type { Clock } from '#lib/clock.ts'
import { isMachineName } from '../machine-name.ts'
import { readRecord, writeRecord } from '../process/record.ts'
import { machineLayout } from './layout.ts'
import { cutPower, findSupervisor, removeGroups, unmountRoot } from './machine.ts'

export async function powerOffAll(dir: string, clock: Clock): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const machines = entries.filter((e) => e.isDirectory() && isMachineName(e.name)).map((e) => e.name)
  await Promise.all(machines.map((machine) => powerOff(dir, machine, clock)))
}

async function powerOff(dir: string, machine: string, clock: Clock): Promise<void> {
  const at = machineLayout(dir, machine)
  const record = await readRecord(at)
  // First: the program that serves the folder next boots it, whatever happens to us.
  if (record?.state === 'Running') await writeRecord(at, { ...record, state: 'Rebooting' })
  await cutPower(at, await findSupervisor(at, record?.agent), clock, async () => undefined)
  await unmountRoot(at)
  await removeGroups(at)
}
