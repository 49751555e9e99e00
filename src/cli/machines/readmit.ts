// `kubenode machine readmit`: a person says that hosts are the same ones, so that the approver lets their agents come back.
import { readFileSync } from 'node:fs'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { readmission } from '#nodeops/readmitted.ts'
import { cliErrors } from '../cli-errors.ts'
import { absent, lookUp, namesOf } from '../inspect/find-object.ts'
import { shownLine } from '#lib/printable.ts'
import type { Io } from '../io.ts'

const LONGEST_MS = 7 * 86_400_000
const STANDARD_INPUT = 0

export interface ReadmitWish {
  readonly client: KubeClient
  readonly names: readonly string[]
  readonly selector?: string
  readonly file?: string
  readonly token?: boolean
  readonly for: string
  readonly now: number
}

const wrong = (why: string) => new KubeNodeError(cliErrors.KN1363({ why }))

export async function readmit(wish: ReadmitWish, io: Pick<Io, 'out' | 'err'>): Promise<{ readonly failed: number }> {
  const ms = durationMs(wish.for)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw wrong(`--for ${JSON.stringify(wish.for)} is not a time up to 7d`)
  const { machines, missing } = await machinesOf(wish)
  const known = missing.length === 0 ? [] : await namesOf(wish.client, machineType)
  for (const name of missing) io.err(shownLine(absent('machine', name, known, machineType.plural).message))
  let failed = missing.length
  for (const m of machines) {
    const name = m.metadata.name ?? ''
    try {
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

async function machinesOf({ client, names, selector, file }: ReadmitWish) {
  const named = [...new Set([...names, ...(file === undefined ? [] : namesIn(file))])]
  if (named.length === 0 && selector === undefined) throw wrong('no machines are named')
  const found = selector === undefined ? [] : (await client.list(machineType, { labelSelector: selector })).items
  const machines = new Map(found.map((m) => [m.metadata.name ?? '', m]))
  const missing: string[] = []
  for (const name of named.filter((n) => !machines.has(n))) {
    const m = await lookUp(client, machineType, name)
    if (m === undefined) missing.push(name)
    else machines.set(name, m)
  }
  return { machines: [...machines.values()], missing }
}

const namesIn = (file: string): readonly string[] => {
  try {
    return readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
  } catch (cause) {
    throw new KubeNodeError(cliErrors.KN1363({ why: messageOf(cause) }), { cause })
  }
}
