// Hosts that existed before KubeNode and outlive it: nothing is created or ended. A user runs the join command on them. The provider only records which machine
// has which host; the next create restores a lost record.
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import type { CreateResult, DeleteResult, Host, HostList, HostRequest, Ordered, Provider } from '../port.ts'
import { badName, isMachineName, machineIn, takenName } from '../machine-name.ts'
import { readText, withOwner, writeWhole } from '../process/record.ts'
import { providersErrors } from '../providers-errors.ts'

const STATIC_SCHEME = 'static://'

interface Note {
  readonly clientToken: string
  readonly machineUid: string
  readonly machine: string
  readonly address?: string
  readonly createdAt: string
}

/** Where records are kept. Every call is atomic: the old record or the new one. */
export interface Notes {
  read(machine: string): Promise<string | undefined>
  write(machine: string, text: string): Promise<void>
  remove(machine: string): Promise<boolean>
  names(): Promise<readonly string[]>
}

export function notesInMemory(kept: Map<string, string> = new Map()): Notes {
  return {
    read: async (machine) => kept.get(machine),
    write: async (machine, text) => void kept.set(machine, text),
    remove: async (machine) => kept.delete(machine),
    names: async () => [...kept.keys()],
  }
}

const ENDING = '.json'

export async function notesIn(dir: string): Promise<Notes> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const file = (machine: string) => join(dir, machine + ENDING)
  return {
    read: (machine) => readText(file(machine)),
    write: (machine, text) => writeWhole(file(machine), text),
    remove: async (machine) => {
      const isThere = (await readText(file(machine))) !== undefined
      await rm(file(machine), { force: true })
      return isThere
    },
    names: async () =>
      (await readdir(dir))
        .filter((n) => n.endsWith(ENDING))
        .map((n) => n.slice(0, -ENDING.length))
        .filter(isMachineName),
  }
}

function parseNote(machine: string, text: string): Note {
  const value: unknown = JSON.parse(text)
  const { clientToken, createdAt, address, machineUid } = isObject(value) ? value : {}
  if (typeof clientToken !== 'string' || typeof createdAt !== 'string')
    throw new KubeNodeError(providersErrors.KN11001_static({ machine }))
  return withOwner({
    clientToken,
    createdAt,
    machine,
    ...(typeof machineUid === 'string' && { machineUid }),
    ...(typeof address === 'string' && { address }),
  })
}

export interface StaticProviderOptions {
  readonly notes: Notes
  readonly clock: Pick<Clock, 'now'>
}

export class StaticProvider implements Provider {
  readonly name = 'static'
  readonly capabilities = { isHostKept: true, visibleWithinMs: 0, markets: [] } as const
  readonly #notes: Notes
  readonly #clock: Pick<Clock, 'now'>
  /** Concurrent creates of one machine run one after the other. */
  readonly #locks = new KeyedLock({ what: 'calls about one machine' })

  constructor({ notes, clock }: StaticProviderOptions) {
    this.#notes = notes
    this.#clock = clock
  }

  create(request: HostRequest): Promise<CreateResult> {
    return this.#locks.run(request.machine, () => this.#take(request))
  }

  async get(providerID: string): Promise<Host | undefined> {
    const machine = machineOf(providerID)
    const note = machine === undefined ? undefined : await this.#note(machine)
    return note && hostOf(note)
  }

  async list(): Promise<HostList> {
    const asOf = timestamp(this.#clock.now())
    const notes = await Promise.all((await this.#notes.names()).map((m) => this.#note(m)))
    return { hosts: notes.flatMap((n) => (n === undefined ? [] : [hostOf(n)])), asOf }
  }

  /** Drops the record of which machine has it; the host itself stays with its owner. */
  delete(providerID: string): Promise<DeleteResult> {
    const machine = machineOf(providerID)
    if (machine === undefined) return Promise.resolve('Gone')
    return this.#locks.run(machine, async () => ((await this.#notes.remove(machine)) ? 'Deleted' : 'Gone'))
  }

  async reboot(providerID: string): Promise<Ordered> {
    if ((await this.get(providerID)) === undefined) return 'Gone'
    throw new KubeNodeError(providersErrors.KN11011({ providerID }))
  }

  /** Static hosts have no events. */
  async events(): Promise<void> {
    return undefined
  }

  async #take({ machine, machineUid, clientToken, params }: HostRequest): Promise<CreateResult> {
    const bad = badName(machine)
    if (bad !== undefined) return bad
    const known = await this.#note(machine)
    const taken = takenName(known, machineUid, STATIC_SCHEME + machine)
    if (taken !== undefined) return taken
    if (known !== undefined) return { kind: 'Host', host: hostOf(known) }
    const { address } = params
    const createdAt = timestamp(this.#clock.now())
    const note: Note = { machine, machineUid, clientToken, createdAt, ...defined({ address }) }
    await this.#notes.write(machine, `${JSON.stringify(note)}\n`)
    return { kind: 'Host', host: hostOf(note) }
  }

  async #note(machine: string): Promise<Note | undefined> {
    const text = await this.#notes.read(machine)
    return text === undefined ? undefined : parseNote(machine, text)
  }
}

const machineOf = (providerID: string): string | undefined => machineIn(STATIC_SCHEME, providerID)

const hostOf = ({ machine, machineUid, clientToken, createdAt, address }: Note): Host => ({
  providerID: STATIC_SCHEME + machine,
  clientToken,
  machine,
  machineUid,
  state: 'Running',
  ...defined({ address }),
  createdAt,
})
