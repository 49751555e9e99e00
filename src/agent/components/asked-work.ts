// Runs what a permitted repair requests from a component: a restart, or a reinstall of the same version from a fresh copy.
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { REFUSED, failed, type Asks } from './asks.ts'
import type { Journal } from './journal.ts'
import { generationAfter, isAtRest } from './record.ts'
import type { Switcher } from './switch.ts'
import type { WorkerDeps } from './worker-deps.ts'

export interface RepairParts {
  readonly component: string
  readonly journal: Journal
  readonly switcher: Switcher
  readonly asks: Asks
  readonly stage: WorkerDeps['stage']
  readonly isNodeFrozen: WorkerDeps['isNodeFrozen'] | undefined
}

export async function restartAsked({ asks, switcher }: RepairParts): Promise<void> {
  const ask = asks.take('Restart')
  try {
    await switcher.restart()
    ask?.done({ kind: 'Done' })
  } catch (e) {
    ask?.done(failed(messageOf(e)))
    throw e
  }
}

export async function reinstallAsked(parts: RepairParts): Promise<void> {
  const { component, journal, switcher, asks, stage, isNodeFrozen } = parts
  const ask = asks.take('Reinstall')
  const { record } = journal
  if (ask === undefined) return
  if (record?.current === undefined || !isAtRest(record))
    return ask.done(failed(`${component} is being changed already`))
  try {
    const { version, config } = record.current
    const request = { name: component, version, ...defined({ config }), generation: generationAfter(record.current) }
    const { slot } = await stage(request, new AbortController().signal)
    if ((await isNodeFrozen?.()) === true) return ask.done(REFUSED)
    asks.holdUntilSwitched(ask)
    await switcher.beginAgain(slot)
    if (journal.record?.open === undefined) asks.switched(failed(journal.record?.message ?? 'rolled back'))
  } catch (e) {
    asks.drop()
    ask.done(failed(messageOf(e)))
  }
}
