// Removes a component from the node as it was decided, then its folder. Every step can be repeated: after an interruption, the removal finishes the same way.
import { dirname, join } from 'node:path'
import { parseDuration } from '#lib/duration.ts'
import { assertNever } from '#lib/errors.ts'
import { makeFolderDurably } from '../files/durable.ts'
import { componentFolder, trashFolder } from '../node-dir.ts'
import { keep, letGoUnread, lostOriginal, removeFolders, restore, restorePath, type InUse } from './hand-back.ts'
import type { Journal } from './journal.ts'
import { dropKept, readKept } from './kept.ts'
import { layoutOf } from './layout.ts'
import type { RemovalPlan } from './record.ts'
import { readSlot } from './slot.ts'
import type { SwitchDeps } from './switch.ts'

export interface RemoveParts extends Pick<SwitchDeps, 'files' | 'dir' | 'processes' | 'log' | 'runHook'> {
  readonly component: string
  readonly journal: Journal
}

export async function removeComponent(parts: RemoveParts, planned: RemovalPlan): Promise<void> {
  const { component, journal } = parts
  const record = journal.demand()
  const removal = record.removal ?? planned
  if (record.removal === undefined) await journal.write({ removal })
  const { current } = record
  const spec = current && (await readSlot(parts, component, current.id))
  if (current === undefined || spec === undefined) await letGoUnread(parts, component, removal.how === 'Keep')
  else await handBack(parts, { component, slot: current.id, spec }, removal)
  await throwAway(parts)
  journal.forget()
}

async function handBack(parts: RemoveParts, inUse: InUse, { how, restarts }: RemovalPlan): Promise<void> {
  switch (how) {
    case 'Keep':
      return keep(parts, inUse)
    case 'Restore':
      return putBack(parts, inUse, restarts)
    case 'Uninstall':
      return uninstall(parts, inUse)
    default:
      return assertNever(how)
  }
}

/** Checks the originals again: the decision may be older than an interruption. */
async function putBack(parts: RemoveParts, inUse: InUse, restarts: boolean): Promise<void> {
  const lost = await lostOriginal(parts, inUse)
  if (lost === undefined) return restore(parts, inUse, { restarts })
  parts.log.warn('what runs is kept', { component: parts.component, reason: lost })
  await parts.journal.write({ removal: { how: 'Keep', restarts: false } })
  return keep(parts, inUse)
}

async function uninstall(parts: RemoveParts, { component, spec }: InUse): Promise<void> {
  const { processes, runHook } = parts
  await processes.stop(component)
  await processes.forget?.(component, spec.service)
  const hook = spec.hooks?.uninstall
  if (hook !== undefined) await runHook(hook.command, parseDuration(hook.timeout), component)
  for (const { path } of layoutOf(spec).links) await restorePath(parts, component, undefined, path)
  await removeFolders(parts, await readKept(parts, component))
  await dropKept(parts, component)
}

/** Renames the folder away in one step, then removes its files. */
async function throwAway({ files, dir, component }: RemoveParts): Promise<void> {
  const folder = componentFolder(dir, component)
  const trash = join(trashFolder(dir), component)
  await files.remove(trash)
  await makeFolderDurably(files, trashFolder(dir))
  await files.rename(folder, trash)
  await files.syncFolder(dirname(folder))
  await files.remove(trash)
}
