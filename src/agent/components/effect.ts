// What a component's process must do when its slot changes: restart, reload or nothing. A restart is skipped only if nothing but files changed, and the
// files declare what they need.
import { join } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { slotFolder } from '../node-dir.ts'
import { layoutOf } from './layout.ts'
import type { SlotDeps } from './slot.ts'

export type Effect = 'Restart' | 'Reload' | 'None'

export interface SlotOf {
  readonly id: string
  readonly spec: MachineComponentSpec
}

type FileChange = NonNullable<MachineComponentSpec['files']>[number]['onChange']

/** The strictest effect of all changed files. Reload needs a signal. */
export function effectOf(changes: readonly FileChange[], reloadSignal: string | undefined): Effect {
  if (changes.includes('Restart')) return 'Restart'
  if (!changes.includes('Reload')) return 'None'
  return reloadSignal === undefined ? 'Restart' : 'Reload'
}

export async function switchEffect(
  { files, dir }: SlotDeps,
  component: string,
  from: SlotOf | undefined,
  to: SlotOf,
): Promise<Effect> {
  if (from === undefined || JSON.stringify(from.spec) !== JSON.stringify(to.spec)) return 'Restart'
  // Another copy of the same version, made because the running one has a problem.
  if (from.id.split('-')[0] === to.id.split('-')[0]) return 'Restart'
  const placed = layoutOf(to.spec).files
  const changes: FileChange[] = []
  for (const { path, onChange } of to.spec.files ?? []) {
    const inSlot = placed.find((f) => f.path === path)?.inSlot ?? ''
    const [a, b] = await Promise.all(
      [from.id, to.id].map((id) => files.read(join(slotFolder(dir, component, id), inSlot))),
    )
    if (a === undefined || b === undefined || !a.equals(b)) changes.push(onChange)
  }
  return effectOf(changes, to.spec.service?.reloadSignal)
}
