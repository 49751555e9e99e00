// `kubenode machine readmit`: a person says that hosts are the same ones, so that the approver lets their agents come back.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { hasAcceptedKey } from '#nodeops/agent-key.ts'
import { readmission } from '#nodeops/readmitted.ts'
import { cliErrors } from '../cli-errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '../io.ts'
import { type MachineChoice, namedMachines } from './named-machines.ts'

const LONGEST_MS = 7 * 86_400_000

export interface ReadmitWish extends MachineChoice {
  readonly token?: boolean
  readonly for: string
  readonly now: number
}

const wrong = (why: string, cause?: unknown) => new KubeNodeError(cliErrors.KN1363({ why }), { cause })

export async function readmit(wish: ReadmitWish, io: Pick<Io, 'out' | 'err'>): Promise<{ readonly failed: number }> {
  const ms = durationMs(wish.for)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw wrong(`--for ${JSON.stringify(wish.for)} is not a time up to 7d`)
  const { machines, missing } = await namedMachines(wish, wrong)
  for (const line of missing) io.err(shownLine(line))
  let failed = missing.length
  for (const m of machines) {
    const name = m.metadata.name ?? ''
    try {
      // Its certificate stays refused: only a new key, which a join token brings, is believed again.
      if (wish.token !== true && !hasAcceptedKey(m)) throw wrong(`the key of ${name} was revoked; add --token`)
      await admit(wish, m, wish.now + ms)
      io.out(shownLine(`machine/${name} readmitted for ${wish.for}${wish.token === true ? ', with a join token' : ''}`))
    } catch (e) {
      failed++
      io.err(shownLine(`machine/${name}: ${messageOf(e)}`))
    }
  }
  return { failed }
}

/** By uid: what a person said about a Machine never counts for another one of its name. */
async function admit({ client, token = false }: ReadmitWish, machine: Machine, untilMs: number): Promise<void> {
  const { name = '', uid } = machine.metadata
  const annotations = { [ANNOTATIONS.readmit]: readmission(machine, untilMs, token) }
  const value = { metadata: { ...(uid !== undefined && { uid }), annotations } }
  await client.patch(machineType, { name }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
}
