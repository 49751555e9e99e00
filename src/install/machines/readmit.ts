// `kubenode machine readmit`: a user confirms that hosts are the same ones, so that the approver readmits their agents.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { hasAcceptedKey } from '#identity/agent-key.ts'
import { readmission } from '#identity/readmitted.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type MachineChoice, namedMachines } from './named-machines.ts'
import { waitingMachines, waitingTable } from '#identity/waiting.ts'

const LONGEST_MS = 7 * 86_400_000

export interface ReadmitOptions extends MachineChoice {
  readonly token?: boolean
  readonly for: string
  readonly now: number
  /** Only print the waiting ones. */
  readonly list?: boolean
  /** All waiting ones; the value is the count that the user saw. */
  readonly allWaiting?: string
}

const wrong = (why: string, cause?: unknown) => new KubeNodeError(machinesErrors.KN1002_readmit({ why }), { cause })

/** How long they may come back, in milliseconds. */
export function readmittedFor(length: string): number {
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw wrong(`--for ${JSON.stringify(length)} is not a time up to 7d`)
  return ms
}

export async function readmit(
  asked: ReadmitOptions,
  io: Pick<Io, 'out' | 'err'>,
): Promise<{ readonly failed: number }> {
  if (asked.list === true) return listWaiting(asked, io)
  const options = asked.allWaiting === undefined ? asked : await withWaiting(asked, asked.allWaiting)
  const ms = readmittedFor(options.for)
  const { machines, missing } = await namedMachines(options, wrong)
  for (const line of missing) io.err(shownLine(line))
  let failed = missing.length
  for (const m of machines) {
    const name = m.metadata.name ?? ''
    try {
      // Its certificate stays rejected: only a new key, brought by a join token, is accepted again.
      if (options.token !== true && !hasAcceptedKey(m)) throw wrong(`the key of ${name} was revoked; add --token`)
      await admit(options, m, options.now + ms)
      io.out(
        shownLine(
          `machine/${name} readmitted for ${options.for}${options.token === true ? ', with a join token' : ''}`,
        ),
      )
    } catch (e) {
      failed++
      io.err(shownLine(`machine/${name}: ${messageOf(e)}`))
    }
  }
  return { failed }
}

async function listWaiting(
  { client, now }: ReadmitOptions,
  io: Pick<Io, 'out' | 'err'>,
): Promise<{ readonly failed: number }> {
  const waiting = await waitingMachines(client)
  if (waiting.length === 0) {
    io.err(shownLine('no machine is waiting to be readmitted'))
    return { failed: 0 }
  }
  for (const line of waitingTable(waiting, now)) io.out(shownLine(line))
  const able = waiting.filter((w) => w.canReturn).length
  if (able > 0) io.err(shownLine(`to readmit all ${able}: kubenode machine readmit --all-waiting ${able}`))
  return { failed: 0 }
}

/** The count is the confirmation: never readmit hosts that the user did not see. */
async function withWaiting(options: ReadmitOptions, count: string): Promise<ReadmitOptions> {
  if (options.names.length > 0 || options.selector !== undefined || options.file !== undefined)
    throw wrong('--all-waiting stands alone: leave out names, --selector and --file')
  const able = (await waitingMachines(options.client)).filter((w) => w.canReturn)
  if (count !== String(able.length))
    throw wrong(
      `${able.length} machines wait now, not ${count}; look at them with --list, then give --all-waiting ${able.length}`,
    )
  if (able.length === 0) throw wrong('no machine is waiting')
  return { ...options, names: able.map((w) => w.name) }
}

/** By uid: a decision about a Machine never applies to another one with its name. */
async function admit({ client, token = false }: ReadmitOptions, machine: Machine, untilMs: number): Promise<void> {
  const { name = '', uid } = machine.metadata
  const annotations = { [ANNOTATIONS.readmit]: readmission(machine, untilMs, token) }
  const value = { metadata: { ...defined({ uid }), annotations } }
  await client.patch(machineType, { name }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
}
